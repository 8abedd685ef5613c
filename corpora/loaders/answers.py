"""Gold answers in every way of writing them: a text, a list, forms of one entity, objects."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from branchwise.base.files import json_kind
from branchwise.corpora.loaders.format_fields import ANSWER, BRANCH, names
from branchwise.corpora.loaders.record_reader import RecordReader
from branchwise.corpora.questions import DEFAULT_BRANCH, Answer, Branch, GoldSet

_ANSWER, _BRANCH = names(ANSWER), names(BRANCH)
_LIKE_TEXT = ("name", "answer", "value", "label")
"""What an answer's text is called elsewhere."""
_WRITE = 'write a text, a list of its forms, or {"text": ..., "aliases": [...]}'
_WRITE_SETS = 'write a list of gold sets, each as "answers" or "branches" are'


def folded_name(name: str) -> str:
    """A branch's name as it is compared with others: in any case, and in any white space."""
    return " ".join(name.split()).casefold()


def single(value: Mapping[str, Any]) -> str | None:
    """What an object is that could be one answer or branch; None if it names branches."""
    if "text" in value:  # also SQuAD's {"text": [...], "answer_start": [...]}
        return "one answer"
    return "one branch" if "name" in value and "answers" in value else None


class _Nth(NamedTuple):
    """Which answer of a branch, for messages; number 0: the only one."""

    number: int
    branch: str

    def __str__(self) -> str:
        of = "" if self.branch == DEFAULT_BRANCH else f" of {self.branch!r}"
        return f"answer {self.number}{of}" if self.number else f"the answer{of}"


class GoldReader(RecordReader):
    """Reads the gold answers of a record, too."""

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

    def only(self, answer: Answer | None) -> tuple[Branch, ...]:
        """The only branch with its only answer; none without one."""
        return (Branch(name=DEFAULT_BRANCH, answers=(answer,)),) if answer else ()

    def branches(self, value: Any, what: str = '"answers"') -> tuple[Branch, ...]:
        """The branches in `answers`: one branch's answers, or an object of them by branch.

        `what`: what holds them, for messages.
        """
        if not isinstance(value, dict):
            return self._only(value)
        if looks_like := single(value):
            found = f"{what} looks like {looks_like}"
            self.refuse("answer-without-list", found, "write a list around it")
            return ()
        named = self._checked(list(value))
        return tuple(
            Branch(name=name, answers=self.answers(members, name))
            for name, members in zip(named, value.values(), strict=True)
        )

    def listed_branches(self, value: Any) -> tuple[Branch, ...]:
        """The branches in `branches`: a list of objects."""
        if isinstance(value, dict) and "name" not in value:
            return self.branches(value, '"branches"')
        if not isinstance(value, list):
            what = f'"branches" is {json_kind(value)}'
            self.refuse("branches", what, 'write a list of {"name": ..., "answers": [...]}')
            return ()
        found = [branch for n, one in enumerate(value, 1) if (branch := self._branch(one, n))]
        self._checked([branch.name for branch in found])
        return tuple(found)

    def alternatives(self, value: Any) -> tuple[GoldSet, ...]:
        """The gold sets in `alternatives`: each is written as `answers` or as `branches` are."""
        if not isinstance(value, list):
            self.refuse("alternatives", f'"alternatives" is {json_kind(value)}', _WRITE_SETS)
            return ()
        found = []
        for number, one in enumerate(value, start=1):
            self.part = f"alternative {number}"
            listed = isinstance(one, list) and any(
                isinstance(member, dict) and ("name" in member or "answers" in member)
                for member in one
            )
            found.append(self.listed_branches(one) if listed else self.branches(one, "it"))
        self.part = ""
        return tuple(found)

    def answers(self, value: Any, branch: str = DEFAULT_BRANCH) -> tuple[Answer, ...]:
        """The answers of a branch: one answer, or a list of them.

        An answer is a text, a number, a list of forms (its text, then its aliases), or an object.
        """
        members = value if isinstance(value, list) else [value]
        found: list[Answer] = []
        by_text: dict[str, list[int]] = {}
        before = self.refused
        for number, member in enumerate(members, start=1):
            place = _Nth(number if len(members) > 1 else 0, branch)
            if (answer := self._answer(member, place)) is None:
                continue
            same = by_text.setdefault(answer.text, [])
            at = next((n for n in same if _is_one_entity(found[n], answer)), None)
            if at is None:
                same.append(len(found))
                found.append(answer)
            else:
                what = f"{place} repeats {answer.text!r}"
                self.mend("repeated-answer", what, "write each answer once")
                found[at] = _merged(found[at], answer)
        if not found and self.refused == before:
            what = f"branch {branch!r} has no answers"
            self.refuse("no-answers", what, "add some, or leave the branch out")
        return tuple(found)

    def _only(self, value: Any) -> tuple[Branch, ...]:
        return (Branch(name=DEFAULT_BRANCH, answers=self.answers(value)),)

    def _branch(self, value: Any, number: int) -> Branch | None:
        if not isinstance(value, dict):
            what, remedy = f"branch {number} is {json_kind(value)}", "write an object"
            self.refuse("branches", what, remedy)
            return None
        name, answers = self.text(value.get("name")), value.get("answers")
        if not _BRANCH.issuperset(value):
            place = f"branch {number}" if name is None else f"branch {name!r}"
            self.keep(value, _BRANCH, place, "branches.", name or str(number))
        if name is None or answers is None:
            self._lacking(value, name, number)
            return None
        branch = Branch(name=name, answers=self.answers(answers, name))
        if not (value.get("qid") or value.get("citations")):
            return branch
        qid = self.optional_text(value.get("qid"), f'"qid" of branch {name!r}')
        cited = self.texts(value.get("citations"), f'"citations" of branch {name!r}', "citations")
        return replace(branch, qid=qid, citations=cited)

    def _lacking(self, value: Mapping[str, Any], name: str | None, number: int) -> None:
        """Refuse a branch without a name that is a text, or without answers."""
        place = f"branch {number}" if name is None else f"branch {name!r}"
        if name is None and value.get("name") is not None:
            self.refuse("branches", f'"name" of {place} is {json_kind(value["name"])}')
        elif name is None:
            self.refuse("branches", f'{place} lacks "name"')
        if value.get("answers") is None:
            self.refuse("branches", f'{place} lacks "answers"')

    def _checked(self, found: Sequence[str]) -> Sequence[str]:
        """The names of a question's branches, if they can be told apart."""
        if len(found) == 1 and found[0].strip():
            return found
        first: dict[str, str] = {}
        for name in found:
            folded = folded_name(name)
            if not folded:
                self.refuse("branch-name", "a branch has an empty name", 'use "default"')
            elif folded in first:
                same = first[folded]
                what = f"branch {name!r} appears twice"
                if same != name:
                    what = f"the branches {same!r} and {name!r} differ only in case or spaces"
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
        self.mend("empty-answer", f"{place} is empty", "fill or remove it")

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
            self.mend("empty-alias", what, "fill or remove it")
        text, *aliases = dict.fromkeys(forms)
        return Answer(text=text, aliases=tuple(aliases))

    def _object(self, value: dict[str, Any], place: _Nth) -> Answer | None:
        text = self.text(value.get("text"))
        if not _ANSWER.issuperset(value):
            key = text or str(place.number or 1)
            self.keep(value, _ANSWER, str(place), "answers.", key)
        if text is None:
            lacks = value.get("text") is None
            found = 'lacks "text"' if lacks else f'has {json_kind(value["text"])} as "text"'
            named = next((n for n in _LIKE_TEXT if lacks and self.text(value.get(n))), None)
            remedy = f'call {named!r} "text"' if named else _WRITE
            self.refuse("not-an-answer", f"{place} {found}", remedy)
            return None
        if not text.strip():
            self._empty(place)
            return None
        more = {name: told for name, told in value.items() if told and name != "text"}
        return Answer(text=text, **self._more(text, more)) if more else Answer(text=text)

    def _more(self, text: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """What an answer says besides its text."""
        aliases = self.texts(value.get("aliases"), f'"aliases" of {text!r}', "aliases")
        if not all(alias.strip() for alias in aliases):
            what = f"an alias of {text!r} is empty"
            self.mend("empty-alias", what, "fill or remove it")
            aliases = tuple(alias for alias in aliases if alias.strip())
        qid = self.optional_text(value.get("qid"), f'"qid" of {text!r}')
        support = self.texts(value.get("support"), f'"support" of {text!r}', "support")
        told = self.optional_text(value.get("description"), f'"description" of {text!r}')
        return {"aliases": aliases, "qid": qid, "support": support, "description": told}


def _is_one_entity(one: Answer, other: Answer) -> bool:
    """Whether answers of one text are one: unless both have items, and different ones."""
    return one.qid is None or other.qid is None or one.qid == other.qid


def _merged(one: Answer, other: Answer) -> Answer:
    aliases = dict.fromkeys((*one.aliases, *other.aliases))
    support = dict.fromkeys((*one.support, *other.support))
    qid = one.qid or other.qid
    description = one.description or other.description
    more = replace(one, aliases=tuple(aliases), support=tuple(support))
    return replace(more, qid=qid, description=description)
