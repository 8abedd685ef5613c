"""A task is named in its own modules alone, and so are its metrics, protocols and variants."""

import ast
import re

import pytest

from branchwise.eval.tasks import TASKS, known_variants, variants_of
from branchwise.graphs.flows import FLOWS
from support.rooms import ROOT, product_files

OF_TASKS = (
    "eval/tasks/",
    # A question format says which task its questions are of.
    "corpora/loaders/forms.py",
)
KEYS = {column.key for task in TASKS.values() for column in task.columns}
# Of each task: the protocols that its questions are put by, and the ways in which it is scored.
WAYS = [{*task.flow.protocols, *variants_of(name)} for name, task in TASKS.items()]
# These are words of the data and of reports, too: one alone, away from protocols, names none.
OWN_WORDS = {*set().union(*WAYS)} - {"answers", "closed", "standard"}


def named_by(words: str, names: set[str]) -> re.Pattern[str]:
    """A literal that a name about tasks is compared with, given, assigned or asked for."""
    alternatives = "|".join(map(re.escape, sorted(names)))
    to = r"(?:\s*(?::[^=\n]{1,40})?(?:[=!]?=| in )\s*|(?:\.\w+)*[\[(])[\[({]?"
    listed = r"(?:\"\w*\", *)*"
    return re.compile(rf"(?i:\w*(?:{words})\w*)(?:\.\w+)?{to}{listed}\"({alternatives})\"")


PATTERNS = (
    named_by("task|flow|answer_format|formats", {*TASKS, *FLOWS}),
    named_by("protocol|variant", set().union(*WAYS)),
)


def names_in(source: str) -> set[str]:
    """The names of tasks, flows, protocols and variants that a module's code names them by."""
    code = re.sub(r"`[^`\n]*`", "", source)
    return {name for pattern in PATTERNS for name in pattern.findall(code)}


def texts(nodes: list[ast.expr | None]) -> set[str]:
    return {one.value for one in nodes if isinstance(one, ast.Constant) and type(one.value) is str}


def words_in(source: str) -> set[str]:
    """Keys of metrics, words of protocols and variants, and several of one task's together."""
    nodes = [*ast.walk(ast.parse(source))]
    found = (KEYS | OWN_WORDS) & texts([node for node in nodes if isinstance(node, ast.Constant)])
    for node in nodes:
        if isinstance(node, ast.Dict | ast.Tuple | ast.List | ast.Set):
            together = texts(node.keys if isinstance(node, ast.Dict) else [*node.elts])
            found |= {word for ways in WAYS if len(ways & together) > 1 for word in ways & together}
    return found


@pytest.mark.long
def test_no_module_but_a_tasks_own_names_a_task_or_a_metric() -> None:
    sources = {
        file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in product_files()
    }
    found = {
        place: names_in(source) | words_in(source)
        for place, source in sources.items()
        if not place.startswith(OF_TASKS)
    }
    assert {place: named for place, named in found.items() if named} == {}


@pytest.mark.parametrize(
    "code",
    [
        'report.task == "branches"', 'if task.name in ("x", "condambigqa"): pass',
        'eval.tasks.get_task("branches")', 'run(task="condambigqa")', 'FORMATS["conditions"]',
        'TASKS.get("branches")', 'ATTRIBUTED_TASKS = ("branches",)', 'TASK: str = "branches"',
        'def f(answer_format="branches"): pass', 'if protocol == "closed": pass',
        'choice.variant in ("standard", "x")',
    ],
)  # fmt: skip
def test_a_task_that_is_named_is_found(code: str) -> None:
    assert names_in(code)


@pytest.mark.parametrize(
    "code", ['record["branches"]', 'include={"branches"}', 'f("branches")', 'x == "branches"']
)
def test_a_word_of_the_data_is_no_task(code: str) -> None:
    assert not names_in(code)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ('found["strict_recall"].mean', {"strict_recall"}),
        ('"""Mean strict_recall of a run."""', set()),
        ('WEIGHTS = {"standard": 1, "closed": 2}', {"standard", "closed"}),
        ('Protocols = Literal["closed", "standard"]', {"standard", "closed"}),
        *((f"Variants = Literal[{word!r}]", {word}) for word in known_variants()),
    ],
)
def test_words_of_tasks_are_found_wherever_they_stand(code: str, words: set[str]) -> None:
    assert words_in(code) == words
