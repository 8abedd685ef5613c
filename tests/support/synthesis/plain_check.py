"""Is a question's gold right? Plain Python over files; shares no code with what makes questions."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from support.synthesis.plain_kg_file import (
    Fact,
    PlainKg,
    PlainSchema,
    read_kg,
    read_names,
    read_schema,
    read_told,
)
from support.synthesis.plain_plans import Held, evaluate


@dataclass
class Checker:
    """What questions are checked against; `told` is empty where there is no corpus."""

    kg: PlainKg
    schema: PlainSchema
    names: dict[str, list[dict]]
    told: dict[str, set[Fact]] = field(default_factory=dict)

    @classmethod
    def of_files(
        cls, kg: Path, schema: list[Path], names: Path, corpus: Path | None = None
    ) -> "Checker":
        told = read_told(corpus) if corpus else {}
        return cls(read_kg(kg), read_schema(*schema), read_names(names), told)

    def problems(self, question: dict) -> Iterator[str]:
        """Everything that is wrong with a question's gold, a line each."""
        for problem in self._problems(question):
            yield f"{question['id']}: {problem}"

    def _problems(self, question: dict) -> Iterator[str]:
        yield from self._unsaid(question)
        held = {bearer: self.answers(question, bearer) for bearer in self.bearers(question)}
        expected = {bearer: answers for bearer, answers in held.items() if answers}
        kin = self.kg.of(self.focus(question), "P31")
        for bearer in self.bearers(question):
            plan = about(question["plan"], bearer)
            alike = bearer not in expected and kin and self.kg.of(bearer, "P31") == kin
            if alike and evaluate(plan, self.kg, self.schema)[-1]:
                yield f"{bearer}, which is of the same class, leads to answers"
            if bearer not in expected and self.says_the_same(question, bearer):
                yield f"of {bearer}, which is of another kind, the same is said"
        different = {frozenset(answers) for answers in expected.values()}
        if question.get("ambiguous", False) != (len(different) > 1):
            yield f"ambiguous is {question.get('ambiguous')}, but {len(different)} sets differ"
        branches = question["branches"]
        if question.get("ambiguous"):
            yield from self._named(branches, expected)
        elif [branch["name"] for branch in branches] != ["default"]:
            yield "it has one reading, and its branch is not called default"
        else:
            yield from self._branch(branches[0], held[self.focus(question)])
        said, involved = question.get("meta", {}).get("entities"), self.involved(question, expected)
        if said is not None and said != len(involved):
            yield f"it says that {said} entities are involved, not {len(involved)}"

    def _unsaid(self, question: dict) -> Iterator[str]:
        """What was so before is said to be, in the question and each step, and nothing else is."""
        former = [is_former(step) for step in question["plan"]]
        told = zip(former, question.get("meta", {}).get("plan", ()), strict=False)
        for past, words in [(any(former), question["question"]), *told]:
            if past != bool(FORMERLY.search(words)):
                yield f"{past} is not what it says of the past: {words}"

    def focus(self, question: dict) -> str:
        return focus_of(question["plan"])["entity"]

    def answers(self, question: dict, bearer: str) -> Held:
        """What the plan comes to for a bearer of a kind that its own step is said of; nothing for
        others, which the question cannot mean."""
        plan = about(question["plan"], bearer)
        step = focus_of(plan)
        end = "object" if step.get("inverse") else "subject"
        kinds = self.schema.relations[step["relation"]][end]
        if not self.schema.fits(self.kg, bearer, kinds):
            return {}
        return evaluate(plan, self.kg, self.schema)[-1]

    def says_the_same(self, question: dict, bearer: str) -> bool:
        """Whether the property of a question's own step says something of a bearer of a kind that
        its relation is not declared for: a reader may mean that one."""
        step = focus_of(question["plan"])
        end = "object" if step.get("inverse") else "subject"
        relation = self.schema.relations[step["relation"]]
        said = self.kg.having if step.get("inverse") else self.kg.of
        is_declared = self.schema.fits(self.kg, bearer, relation[end])
        return bool(said(bearer, relation["property"])) and not is_declared

    def involved(self, question: dict, bearers: Iterable[str]) -> set[str]:
        """All that is in the set of any step, for any bearer that leads to answers."""
        plans = [about(question["plan"], bearer) for bearer in bearers]
        return {
            member
            for plan in plans
            for held in evaluate(plan, self.kg, self.schema)
            for member in held
        }

    def bearers(self, question: dict) -> list[str]:
        """All entities that the question's name may mean; the title of one means that one."""
        focus = self.focus(question)
        sharing = self.names.get(self.kg.labels[focus], [])
        title = next((bearer["title"] for bearer in sharing if bearer["id"] == focus), None)
        if title is None or title in question["question"]:
            return [focus]
        return [bearer["id"] for bearer in sharing]

    def _named(self, branches: list[dict], expected: dict[str, Held]) -> Iterator[str]:
        titles = {b["id"]: b["title"] for bearers in self.names.values() for b in bearers}
        if sorted(b["qid"] for b in branches) != sorted(expected):
            yield f"its branches are {[b['qid'] for b in branches]}, not {sorted(expected)}"
        for branch in branches:
            if branch["name"] != titles.get(branch["qid"]):
                yield f"{branch['qid']} is called {branch['name']!r}"
            if branch["qid"] in expected:
                yield from self._branch(branch, expected[branch["qid"]])

    def _branch(self, branch: dict, expected: Held) -> Iterator[str]:
        given = [answer["qid"] for answer in branch["answers"]]
        if sorted(given) != sorted(expected):
            more, less = sorted(set(given) - set(expected)), sorted(set(expected) - set(given))
            yield f"{branch['name']}: too many {more}, missing {less}, of {len(given)}"
        yield from self._forms(branch)
        for answer in branch["answers"]:
            if self.told and answer["qid"] in expected:
                yield from self._support(answer, expected[answer["qid"]])

    def _forms(self, branch: dict) -> Iterator[str]:
        """Each way of writing an answer is one of its names, and none of another's."""
        titles = {b["id"]: b["title"] for bearers in self.names.values() for b in bearers}
        seen: set[str] = set()
        for answer in branch["answers"]:
            qid, forms = answer["qid"], {answer["text"], *answer.get("aliases", [])}
            own = {self.kg.labels.get(qid), titles.get(qid), *self.kg.aliases.get(qid, ())}
            if strange := sorted(forms - own) + sorted(forms & seen):
                yield f"{branch['name']}: {qid} is written {strange[0]!r}"
            seen |= forms

    def _support(self, answer: dict, facts: frozenset[Fact]) -> Iterator[str]:
        """Each passage tells a fact that leads to the answer; together they tell them all."""
        given = answer.get("support", [])
        for passage in given:
            if passage not in self.told:
                yield f"{answer['text']}: there is no passage {passage}"
            elif not self.told[passage] & facts:
                yield f"{answer['text']}: passage {passage} tells nothing that leads to it"
        told = {fact for passage in given for fact in self.told.get(passage, ())}
        if untold := sorted(facts - told):
            yield f"{answer['text']}: {len(untold)} of {len(facts)} facts untold: {untold[:2]}"


FORMERLY = re.compile(r"\b(formerly|used? to)\b")


def is_former(step: dict) -> bool:
    return step.get("relation", "").startswith("formerly ")


def focus_of(plan: list[dict]) -> dict:
    return next((step for step in plan if step.get("focus")), plan[0])


def about(plan: list[dict], entity: str) -> list[dict]:
    """The plan with another entity in its focus."""
    focus = focus_of(plan)
    return [step | {"entity": entity} if step is focus else step for step in plan]
