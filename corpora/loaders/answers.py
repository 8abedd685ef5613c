"""Gold answers in every way of writing them: a text, a list, forms of one entity, objects."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from branchwise.corpora.files import json_kind
from branchwise.corpora.loaders.format_fields import ANSWER, BRANCH, misspelt, names
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.questions import DEFAULT_BRANCH, Answer, Branch, Question

_ANSWER, _BRANCH = names(ANSWER), names(BRANCH)
_FILL = "write what is asked"
_WRITE = 'write a text, a list of its forms, or {"text": ..., "aliases": [...]}'


class _Nth(NamedTuple):
    """Which answer of a branch, for messages; number 0: the only one."""

    number: int
    branch: str

    def __str__(self) -> str:
        of = "" if self.branch == DEFAULT_BRANCH else f" of {self.branch!r}"
        return f"answer {self.number}{of}" if self.number else f"the answer{of}"


class RecordReader:
    """Reads what a question says of itself; what is wrong goes to its place.

    `refused`: how many mistakes leave it out. `extra`: fields that the format does not have, to
    be kept in `meta`; those of answers, branches and passages by the name of what they are of.
    """

    def __init__(self, at: RowPlace) -> None:
        self.at = at
        self.refused = 0
        self.extra: dict[str, Any] = {}

    def refuse(self, kind: str, what: str, remedy: str | None = None) -> None:
        """Take a mistake that leaves the question out."""
        self.refused += 1
        self.at.refuse(kind, what, remedy)

    def unknown(
        self, record: Mapping[str, Any], fields: frozenset[str], what: str, prefix: str = ""
    ) -> Iterator[tuple[str, Any]]:
        """The fields that the format does not have, by the names that they get in `meta`.

        Those that look misspelt are refused. `what`: the thing that has them, for messages.
        """
        absent: frozenset[str] | None = None
        for name, value in record.items():
            if name in fields:
                continue
            absent = fields.difference(record) if absent is None else absent
            if near := misspelt(name, absent):
                what = f"{what} has {name!r}" if what else f"has a field {name!r}"
                self.refuse("misspelt-field", what, f"did you mean {near!r}?")
            elif value is not None:
                self.at.keep(f"{prefix}{name}")
                yield f"{prefix}{name}", value

    def keep(
        self, record: Mapping[str, Any], fields: frozenset[str], what: str, prefix: str, key: str
    ) -> None:
        """Keep such fields of an answer, branch or passage under its name, `key`."""
        if not fields.issuperset(record):
            for name, value in self.unknown(record, fields, what, prefix):
                self.extra.setdefault(name, {})[key] = value

    def id(self, value: Any) -> str:
        """A question's id; without one it gets its row's number."""
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is None:
            if self.at.loading.source.form.is_own:
                self.at.mend("no-id", 'lacks "id"', "number the questions")
            return str(self.at.number)
        found = "has an empty id" if isinstance(value, str) else f"has {json_kind(value)} as id"
        self.refuse("id", found, "write a text or a whole number")
        return ""

    def question_text(self, value: Any, name: str | None = None) -> str:
        """What is asked; `name`: what says it, for messages."""
        name = name or f'"{self.at.column("question")}"'
        if isinstance(value, str) and value.strip():
            return value
        found = "is empty" if isinstance(value, str) else f"is {json_kind(value)}"
        self.refuse("question", f"lacks {name}" if value is None else f"{name} {found}", _FILL)
        return ""

    def one_of(self, value: Any, name: str) -> Answer | None:
        """The one answer that a text or a list of its forms says; `name`: of the field."""
        if value is None:
            self.refuse("form", f'lacks "{name}"')
            return None
        if not isinstance(value, list | str | int | float) or isinstance(value, bool):
            what = f'"{name}" is {json_kind(value)}'
            remedy = "it is a text or a list of texts"
            self.refuse("form", what, remedy)
            return None
        before = self.refused
        found = self._forms(value if isinstance(value, list) else [value], _Nth(0, DEFAULT_BRANCH))
        if found is None and self.refused == before:
            self.refuse("no-answers", f'"{name}" holds no answer')
        return found

    def entries(self, value: Any, name: str) -> list[Any]:
        """The members of a list; none of null. `name`: of the field."""
        if value is None or isinstance(value, list):
            return value or []
        self.refuse("form", f'"{name}" is {json_kind(value)}', "it is a list")
        return []

    def only(self, answer: Answer | None) -> tuple[Branch, ...]:
        """The only branch with its only answer; none without one."""
        return (Branch(name=DEFAULT_BRANCH, answers=(answer,)),) if answer else ()

    def made(self, *, branches: tuple[Branch, ...], **fields: Any) -> Question | None:
        """The question, if nothing was refused. It is ambiguous if it has several branches."""
        if self.refused:
            return None
        if branches:
            fields |= {"branches": branches, "ambiguous": len(branches) > 1}
        return Question(**fields)

    def branches(self, value: Any) -> tuple[Branch, ...]:
        """The branches in `answers`: one branch's answers, or an object of them by branch."""
        if not isinstance(value, dict):
            return self._only(value)
        if "text" in value and _ANSWER.issuperset(value):
            what, remedy = '"answers" looks like one answer', "write a list around it"
            self.refuse("answer-without-list", what, remedy)
            return ()
        named = self._checked(list(value))
        return tuple(
            Branch(name=name, answers=self.answers(members, name))
            for name, members in zip(named, value.values(), strict=True)
        )

    def listed_branches(self, value: Any) -> tuple[Branch, ...]:
        """The branches in `branches`: a list of objects."""
        if isinstance(value, dict) and "name" not in value:
            return self.branches(value)
        if not isinstance(value, list):
            what = f'"branches" is {json_kind(value)}'
            self.refuse("branches", what, 'write a list of {"name": ..., "answers": [...]}')
            return ()
        found = [branch for n, one in enumerate(value, 1) if (branch := self._branch(one, n))]
        self._checked([branch.name for branch in found])
        return tuple(found)

    def answers(self, value: Any, branch: str = DEFAULT_BRANCH) -> tuple[Answer, ...]:
        """The answers of a branch: one answer, or a list of them.

        An answer is a text, a number, a list of forms (its text, then its aliases), or an object.
        """
        members = value if isinstance(value, list) else [value]
        found: dict[tuple[str, str | None], Answer] = {}
        before = self.refused
        for number, member in enumerate(members, start=1):
            place = _Nth(number if len(members) > 1 else 0, branch)
            answer = self._answer(member, place)
            if answer is None:
                continue
            key = (answer.text, answer.qid)
            if earlier := found.get(key):
                self.at.mend(
                    "repeated-answer",
                    f"{place} repeats {answer.text!r}",
                    "write each answer once",
                )
                found[key] = _merged(earlier, answer)
            else:
                found[key] = answer
        if not found and self.refused == before:
            what = f"branch {branch!r} has no answers"
            self.refuse("no-answers", what, "add some, or leave the branch out")
        return tuple(found.values())

    def text(self, value: Any) -> str | None:
        """A text, or a number as text; None if it is neither."""
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            written = str(value)
            return None if "e" in written else written
        return None

    def texts(self, value: Any, what: str, kind: str) -> tuple[str, ...]:
        """A list of texts; one text is a list of one, null is none."""
        if value is None:
            return ()
        members = value if isinstance(value, list) else [value]
        found = [self.text(member) for member in members]
        for number, (member, text) in enumerate(zip(members, found, strict=True), start=1):
            if text is None:
                place = f"entry {number} of {what}" if isinstance(value, list) else what
                self.refuse(kind, f"{place} is {json_kind(member)}", "write a list of texts")
        return tuple(text for text in found if text is not None)

    def optional_text(self, value: Any, what: str) -> str | None:
        """A text, or None for null."""
        if value is None or isinstance(value, str):
            return value
        self.refuse("not-a-text", f"{what} is {json_kind(value)}", "write a text")
        return None

    def _only(self, value: Any) -> tuple[Branch, ...]:
        return (Branch(name=DEFAULT_BRANCH, answers=self.answers(value)),)

    def _branch(self, value: Any, number: int) -> Branch | None:
        if not isinstance(value, dict):
            what, remedy = f"branch {number} is {json_kind(value)}", "write an object"
            self.refuse("branches", what, remedy)
            return None
        name = self.text(value.get("name"))
        place = f"branch {number}" if name is None else f"branch {name!r}"
        self.keep(value, _BRANCH, place, "branches.", name or str(number))
        for field in ("name", "answers"):
            if value.get(field) is None:
                self.refuse("branches", f'{place} lacks "{field}"')
        if name is None:
            if value.get("name") is not None:
                self.refuse("branches", f'the "name" of {place} is {json_kind(value["name"])}')
            return None
        answers = value.get("answers")
        return Branch(
            name=name,
            answers=self.answers(answers, name) if answers is not None else (),
            qid=self.optional_text(value.get("qid"), f'the "qid" of {place}'),
            citations=self.texts(value.get("citations"), f"the citations of {place}", "citations"),
        )

    def _checked(self, found: Sequence[str]) -> Sequence[str]:
        """The names of a question's branches, if they can be told apart."""
        first: dict[str, str] = {}
        for name in found:
            folded = " ".join(name.split()).casefold()
            if not folded:
                self.refuse("branch-name", "a branch has an empty name", 'use "default"')
            elif folded in first:
                same = first[folded]
                what = f"branch {name!r} appears twice"
                if same != name:
                    what = f"the branches {same!r} and {name!r} differ in letters' case or spaces"
                self.refuse("repeated-branch", what, "merge the answers, or rename one")
            first.setdefault(folded, name)
        if DEFAULT_BRANCH in found and len(found) > 1:
            other = next((name for name in found if name != DEFAULT_BRANCH), DEFAULT_BRANCH)
            what = f'{other!r} stands beside "{DEFAULT_BRANCH}", which means the only reading'
            self.refuse("default-beside", what, "name the reading")
        return found

    def _answer(self, value: Any, place: _Nth) -> Answer | None:
        if isinstance(value, dict):
            return self._object(value, place)
        if isinstance(value, list):
            return self._forms(value, place)
        text = self.text(value)
        if text is None:
            self._not_an_answer(value, place)
            return None
        if not text.strip():
            self._empty(place)
            return None
        return Answer(text=text)

    def _not_an_answer(self, value: Any, place: _Nth) -> None:
        found = f"a number that is written {value}" if isinstance(value, float) else None
        what = f"{place} is {found or json_kind(value)}"
        self.refuse("not-an-answer", what, "write it as a text" if found else _WRITE)

    def _empty(self, place: _Nth) -> None:
        self.at.mend("empty-answer", f"{place} is empty", "fill or remove it")

    def _forms(self, value: list[Any], place: _Nth) -> Answer | None:
        """The answer whose forms are listed."""
        found = [self.text(form) for form in value]
        if not all(isinstance(form, str) for form in found):
            bad = next(v for v, form in zip(value, found, strict=True) if form is None)
            what = f"a form of {place} is {json_kind(bad)}"
            self.refuse("not-an-answer", what, "write its forms as texts")
            return None
        forms = [form for form in found if form and form.strip()]
        if not forms:
            self._empty(place)
            return None
        if len(forms) < len(found):
            what = f"a form of {place} is empty"
            self.at.mend("empty-alias", what, "fill or remove it")
        text, *aliases = dict.fromkeys(forms)
        return Answer(text=text, aliases=tuple(aliases))

    def _object(self, value: dict[str, Any], place: _Nth) -> Answer | None:
        text = self.text(value.get("text"))
        self.keep(value, _ANSWER, str(place), "answers.", text or str(place.number or 1))
        if text is None:
            lacks = value.get("text") is None
            found = 'lacks "text"' if lacks else f'has {json_kind(value["text"])} as "text"'
            self.refuse("not-an-answer", f"{place} {found}", _WRITE)
            return None
        aliases = self.texts(value.get("aliases"), f"the aliases of {text!r}", "aliases")
        if not text.strip():
            self._empty(place)
            return None
        if not all(alias.strip() for alias in aliases):
            what = f"an alias of {text!r} is empty"
            self.at.mend("empty-alias", what, "fill or remove it")
            aliases = tuple(alias for alias in aliases if alias.strip())
        qid = self.optional_text(value.get("qid"), f'the "qid" of {text!r}')
        support = self.texts(value.get("support"), f"the support of {text!r}", "support")
        return Answer(text=text, aliases=aliases, qid=qid, support=support)


def _merged(one: Answer, other: Answer) -> Answer:
    aliases = dict.fromkeys((*one.aliases, *other.aliases))
    support = dict.fromkeys((*one.support, *other.support))
    return one.model_copy(update={"aliases": tuple(aliases), "support": tuple(support)})
