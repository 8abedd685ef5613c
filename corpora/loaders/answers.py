"""Reading a record by hand: texts, ids, and gold answers in every way of writing them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

from branchwise.base.files import json_kind
from branchwise.corpora.loaders.format_fields import ANSWER, BRANCH, misspelt, names
from branchwise.corpora.loaders.source import RowPlace
from branchwise.corpora.questions import DEFAULT_BRANCH, Answer, Branch, GoldSet, Question

_ANSWER, _BRANCH = names(ANSWER), names(BRANCH)
_LIKE_TEXT = ("name", "answer", "value", "label")  # what an answer's text is called elsewhere
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
    number: int
    branch: str

    def __str__(self) -> str:
        of = "" if self.branch == DEFAULT_BRANCH else f" of {self.branch!r}"
        return f"answer {self.number}{of}" if self.number else f"the answer{of}"


class GoldReader:
    """Reads a record and its gold answers; what is wrong goes to its place.

    `refused`: how many mistakes leave it out. `part`: the part of it that is being read, for
    messages, where it has several like that. `extra`: fields that the format does not have, to be
    kept in `meta`; those of answers, branches and passages by the name of what they are of.
    """

    def __init__(self, at: RowPlace) -> None:
        self.at = at
        self.refused = 0
        self.part = ""
        self.extra: dict[str, Any] = {}

    def refuse(self, kind: str, problem: str, remedy: str | None = None) -> None:
        """Take a mistake that leaves the question out."""
        self.refused += 1
        self.at.refuse(kind, problem, remedy, self.part)

    def mend(self, kind: str, problem: str, remedy: str) -> None:
        """Take a mistake that the caller then mends."""
        self.at.mend(kind, problem, remedy, self.part)

    def unknown(
        self, record: Mapping[str, Any], fields: frozenset[str], owner: str = "", prefix: str = ""
    ) -> Iterator[tuple[str, Any]]:
        """The fields that the format does not have, by their names in `meta`; misspelt ones are
        refused. `owner`: what has them, for messages."""
        absent = fields.difference(record)
        for name, value in record.items():
            if name in fields:
                continue
            if near := misspelt(name, absent):
                problem = f"{owner} has {name!r}" if owner else f"has a field {name!r}"
                self.refuse("misspelt-field", problem, f"did you mean {near!r}?")
            elif value is not None:
                yield f"{prefix}{name}", value

    def keep(
        self, record: Mapping[str, Any], fields: frozenset[str], owner: str, prefix: str, key: str
    ) -> None:
        """Keep such fields of an answer, branch or passage under `key`, numbered if it is taken."""
        if fields.issuperset(record):
            return
        for name, value in self.unknown(record, fields, owner, prefix):
            kept = self.extra.setdefault(name, {})
            numbered = (key if number == 1 else f"{key} ({number})" for number in count(1))
            free = next(name for name in numbered if name not in kept or kept[name] == value)
            kept[free] = value

    def text(self, value: Any) -> str | None:
        """A text, or a number as text; None if it is neither."""
        if isinstance(value, str):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            written = str(value)
            return None if "e" in written else written
        return None

    def texts(self, value: Any, owner: str, kind: str) -> tuple[str, ...]:
        """A list of texts; one text is a list of one, null is none."""
        if value is None:
            return ()
        texts = []
        for number, member in enumerate(value if isinstance(value, list) else [value], start=1):
            if (text := self.text(member)) is not None:
                texts.append(text)
            else:
                place = f"entry {number} of {owner}" if isinstance(value, list) else owner
                self.refuse(kind, f"{place} is {json_kind(member)}", "write a list of texts")
        return tuple(texts)

    def optional_text(self, value: Any, owner: str) -> str | None:
        if value is None or isinstance(value, str):
            return value
        self.refuse("not-a-text", f"{owner} is {json_kind(value)}", "write a text")
        return None

    def entries(self, value: Any, name: str) -> list[Any]:
        """The members of a list; none of null. `name`: of the field."""
        if value is None or isinstance(value, list):
            return value or []
        self.refuse("form", f'"{name}" is {json_kind(value)}', "it is a list")
        return []

    def id(self, value: Any) -> str:
        """A question's id; without one it gets its row's number."""
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is None:
            if self.at.loading.source.form.is_own:
                self.mend("no-id", 'lacks "id"', "number the questions")
            return str(self.at.number)
        problem = "has an empty id" if isinstance(value, str) else f"has {json_kind(value)} as id"
        self.refuse("id", problem, "write a text or a whole number")
        return ""

    def question_text(self, value: Any, name: str | None = None) -> str:
        """What is asked; `name`: what says it, for messages."""
        if isinstance(value, str) and value.strip():
            return value
        name = name or f'"{self.at.column("question")}"'
        problem = f"{name} is empty" if isinstance(value, str) else f"{name} is {json_kind(value)}"
        problem = f"lacks {name}" if value is None else problem
        self.refuse("question", problem, "write what is asked")
        return ""

    def made(self, *, branches: tuple[Branch, ...], **fields: Any) -> Question | None:
        """The question, if nothing was refused. It is ambiguous if it has several branches."""
        if self.refused:
            return None
        if branches:
            fields |= {"branches": branches, "ambiguous": len(branches) > 1}
        return Question(**fields)

    def one_of(self, value: Any, name: str) -> Answer | None:
        """The one answer that a text or a list of its forms says; `name`: of the field."""
        if value is None:
            self.refuse("form", f'lacks "{name}"')
            return None
        if not isinstance(value, list | str | int | float) or isinstance(value, bool):
            remedy = "it is a text or a list of texts"
            self.refuse("form", f'"{name}" is {json_kind(value)}', remedy)
            return None
        before = self.refused
        forms = value if isinstance(value, list) else [value]
        answer = self._forms(forms, _Nth(0, DEFAULT_BRANCH))
        if answer is None and self.refused == before:
            self.refuse("no-answers", f'"{name}" holds no answer')
        return answer

    def only(self, answer: Answer | None) -> tuple[Branch, ...]:
        """The only branch with its only answer; none without one."""
        return (Branch(name=DEFAULT_BRANCH, answers=(answer,)),) if answer else ()

    def branches(self, value: Any, owner: str = '"answers"') -> tuple[Branch, ...]:
        """The branches in `answers`: one branch's answers, or an object. `owner` holds them."""
        if not isinstance(value, dict):
            return (Branch(name=DEFAULT_BRANCH, answers=self.answers(value)),)
        if looks_like := single(value):
            problem = f"{owner} looks like {looks_like}"
            self.refuse("answer-without-list", problem, "write a list around it")
            return ()
        self._check_names(list(value))
        branches = value.items()
        return tuple(Branch(name=name, answers=self.answers(own, name)) for name, own in branches)

    def listed_branches(self, value: Any) -> tuple[Branch, ...]:
        """The branches in `branches`: a list of objects."""
        if isinstance(value, dict) and "name" not in value:
            return self.branches(value, '"branches"')
        if not isinstance(value, list):
            problem = f'"branches" is {json_kind(value)}'
            self.refuse("branches", problem, 'write a list of {"name": ..., "answers": [...]}')
            return ()
        branches = tuple(filter(None, map(self._branch, value, count(1))))
        self._check_names([branch.name for branch in branches])
        return branches

    def alternatives(self, value: Any) -> tuple[GoldSet, ...]:
        """The gold sets in `alternatives`: each is written as `answers` or as `branches` are."""
        if not isinstance(value, list):
            self.refuse("alternatives", f'"alternatives" is {json_kind(value)}', _WRITE_SETS)
            return ()
        gold_sets = []
        for number, gold in enumerate(value, start=1):
            self.part = f"alternative {number}"
            has_branches = isinstance(gold, list) and any(
                isinstance(member, dict) and ("name" in member or "answers" in member)
                for member in gold
            )
            gold_sets.append(
                self.listed_branches(gold) if has_branches else self.branches(gold, "it")
            )
        self.part = ""
        return tuple(gold_sets)

    def answers(self, value: Any, branch: str = DEFAULT_BRANCH) -> tuple[Answer, ...]:
        """The answers of a branch: each a text, a number, a list of forms, or an object."""
        members = value if isinstance(value, list) else [value]
        answers: list[Answer] = []
        by_text: dict[str, list[int]] = {}
        before = self.refused
        for number, member in enumerate(members, start=1):
            nth = _Nth(number if len(members) > 1 else 0, branch)
            if (answer := self._answer(member, nth)) is None:
                continue
            # Answers of one text are one entity, unless both have items, and different ones.
            same = by_text.setdefault(answer.text, [])
            at = next((n for n in same if len({answers[n].qid, answer.qid} - {None}) < 2), None)
            if at is None:
                same.append(len(answers))
                answers.append(answer)
            else:
                problem = f"{nth} repeats {answer.text!r}"
                self.mend("repeated-answer", problem, "write each answer once")
                first = answers[at]
                answers[at] = Answer(
                    text=first.text,
                    aliases=tuple(dict.fromkeys((*first.aliases, *answer.aliases))),
                    qid=first.qid or answer.qid,
                    support=tuple(dict.fromkeys((*first.support, *answer.support))),
                    description=first.description or answer.description,
                )
        if not answers and self.refused == before:
            problem = f"branch {branch!r} has no answers"
            self.refuse("no-answers", problem, "add some, or leave the branch out")
        return tuple(answers)

    def _branch(self, value: Any, number: int) -> Branch | None:
        if not isinstance(value, dict):
            self.refuse("branches", f"branch {number} is {json_kind(value)}", "write an object")
            return None
        name, answers = self.text(value.get("name")), value.get("answers")
        place = f"branch {number}" if name is None else f"branch {name!r}"
        if not _BRANCH.issuperset(value):
            self.keep(value, _BRANCH, place, "branches.", name or str(number))
        if name is None:
            wrong = value.get("name")
            lacks = f'{place} lacks "name"'
            problem = lacks if wrong is None else f'"name" of {place} is {json_kind(wrong)}'
            self.refuse("branches", problem)
        if answers is None:
            self.refuse("branches", f'{place} lacks "answers"')
        if name is None or answers is None:
            return None
        branch = Branch(name=name, answers=self.answers(answers, name))
        if not (value.get("qid") or value.get("citations")):
            return branch
        qid = self.optional_text(value.get("qid"), f'"qid" of branch {name!r}')
        cited = self.texts(value.get("citations"), f'"citations" of branch {name!r}', "citations")
        return replace(branch, qid=qid, citations=cited)

    def _check_names(self, names: Sequence[str]) -> None:
        if len(names) == 1 and names[0].strip():
            return
        first: dict[str, str] = {}
        for name in names:
            folded = folded_name(name)
            if not folded:
                self.refuse("branch-name", "a branch has an empty name", 'use "default"')
            elif folded in first:
                same = first[folded]
                problem = f"branch {name!r} appears twice"
                if same != name:
                    problem = f"the branches {same!r} and {name!r} differ only in case or spaces"
                self.refuse("repeated-branch", problem, "merge the answers, or rename one")
            first.setdefault(folded, name)
        if DEFAULT_BRANCH in names and len(names) > 1:
            other = next((name for name in names if name != DEFAULT_BRANCH), DEFAULT_BRANCH)
            problem = f'{other!r} stands beside "{DEFAULT_BRANCH}", which means the only reading'
            self.refuse("default-beside", problem, "name the reading")

    def _answer(self, value: Any, nth: _Nth) -> Answer | None:
        if isinstance(value, dict):
            return self._object(value, nth)
        if isinstance(value, list):
            return self._forms(value, nth)
        text = self.text(value)
        if text is None:
            number = f"a number that is written {value}" if isinstance(value, float) else None
            problem = f"{nth} is {number or json_kind(value)}"
            self.refuse("not-an-answer", problem, "write it as a text" if number else _WRITE)
            return None
        return Answer(text=text) if self._is_full(text, nth) else None

    def _is_full(self, text: str, nth: _Nth) -> bool:
        if not text.strip():
            self.mend("empty-answer", f"{nth} is empty", "fill or remove it")
        return bool(text.strip())

    def _forms(self, value: list[Any], nth: _Nth) -> Answer | None:
        texts = [self.text(form) for form in value]
        if None in texts:
            problem = f"a form of {nth} is {json_kind(value[texts.index(None)])}"
            self.refuse("not-an-answer", problem, "write its forms as texts")
            return None
        forms = [form for form in texts if form and form.strip()]
        if not self._is_full(forms[0] if forms else "", nth):
            return None
        if len(forms) < len(texts):
            self.mend("empty-alias", f"a form of {nth} is empty", "fill or remove it")
        text, *aliases = dict.fromkeys(forms)
        return Answer(text=text, aliases=tuple(aliases))

    def _object(self, value: dict[str, Any], nth: _Nth) -> Answer | None:
        text = self.text(value.get("text"))
        if not _ANSWER.issuperset(value):
            self.keep(value, _ANSWER, str(nth), "answers.", text or str(nth.number or 1))
        if text is None:
            lacks = value.get("text") is None
            problem = 'lacks "text"' if lacks else f'has {json_kind(value["text"])} as "text"'
            like = next((n for n in _LIKE_TEXT if lacks and self.text(value.get(n))), None)
            remedy = f'call {like!r} "text"' if like else _WRITE
            self.refuse("not-an-answer", f"{nth} {problem}", remedy)
            return None
        if not self._is_full(text, nth):
            return None
        given = {name: member for name, member in value.items() if member and name != "text"}
        if not given:
            return Answer(text=text)
        aliases = self.texts(given.get("aliases"), f'"aliases" of {text!r}', "aliases")
        if not all(alias.strip() for alias in aliases):
            self.mend("empty-alias", f"an alias of {text!r} is empty", "fill or remove it")
            aliases = tuple(alias for alias in aliases if alias.strip())
        qid = self.optional_text(given.get("qid"), f'"qid" of {text!r}')
        support = self.texts(given.get("support"), f'"support" of {text!r}', "support")
        about = self.optional_text(given.get("description"), f'"description" of {text!r}')
        return Answer(text=text, aliases=aliases, qid=qid, support=support, description=about)
