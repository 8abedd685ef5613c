"""A task is named in its own modules alone: elsewhere there is no name of one, no metric's key."""

import ast
from collections.abc import Iterator

import pytest

from branchwise.eval.tasks import TASKS
from branchwise.graphs.flows import FLOWS
from support.rooms import ROOT, product_files

OF_TASKS = (
    "eval/tasks/",
    # A question format says which task its questions are of.
    "corpora/loaders/forms.py",
    # How a judge's grades of answers in free text are added up, and planned for, by protocol.
    "eval/property_grades.py",
    "runs/studies/grading_plan.py",
)
NAMES = {*TASKS, *FLOWS}
KEYS = {column.key for task in TASKS.values() for column in task.columns}
# The others are words of the data and of reports, too: "answers", "closed", "standard".
PROTOCOLS = {name for flow in FLOWS.values() for name in flow.protocols if "-" in name}
PROTOCOLS |= {"guided"}
# "branches" is a word of the data, too: it is a task's name where one of these is beside it.
NAMING = ("task", "flow", "answer_format", "formats")


def texts(node: ast.AST) -> set[str]:
    """The literals of an expression: itself, or the members of a tuple, list or set."""
    members = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    found = (one.value for one in members if isinstance(one, ast.Constant))
    return {value for value in found if isinstance(value, str)}


def is_naming(node: ast.AST | None) -> bool:
    """Whether a name, the last part of a dotted one, or what is called is about tasks."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return is_naming(ast.Name(node.attr)) or is_naming(node.value)
    return isinstance(node, ast.Name) and any(one in node.id.lower() for one in NAMING)


def beside_tasks(node: ast.AST) -> Iterator[ast.AST | None]:
    """Expressions that would name a task if they were its name."""
    match node:
        case ast.Compare(left=left, comparators=others) if any(map(is_naming, [left, *others])):
            yield from (left, *others)
        case ast.Call(args=arguments) if is_naming(node):
            yield from arguments
        case ast.keyword(arg=str(name), value=value) if is_naming(ast.Name(name)):
            yield value
        case ast.Subscript(value=value, slice=key) if is_naming(value):
            yield key
        case ast.Assign(targets=targets, value=value) if any(map(is_naming, targets)):
            yield value
        case ast.AnnAssign(target=target, value=value) if is_naming(target):
            yield value
        case ast.arguments():
            last = [*node.posonlyargs, *node.args][::-1]
            defaults = [*zip(last, node.defaults[::-1], strict=False)]
            defaults += [
                (a, d) for a, d in zip(node.kwonlyargs, node.kw_defaults, strict=True) if d
            ]
            yield from (default for one, default in defaults if is_naming(ast.Name(one.arg)))


def names_in(source: str) -> set[str]:
    """The names of tasks and flows that a module's code names them by."""
    named = (e for node in ast.walk(ast.parse(source)) for e in beside_tasks(node) if e)
    return {text for expression in named for text in texts(expression) if text in NAMES}


def keys_in(source: str) -> set[str]:
    """The keys of metrics, and protocols, that are literals of a module."""
    found = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return (KEYS | PROTOCOLS) & {node.value for node in found if isinstance(node.value, str)}


def test_no_module_but_a_tasks_own_names_a_task_or_a_metric() -> None:
    sources = {
        file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in product_files()
    }
    found = {
        place: names_in(source) | keys_in(source)
        for place, source in sources.items()
        if not place.startswith(OF_TASKS)
    }
    assert {place: named for place, named in found.items() if named} == {}


def test_a_metric_that_is_named_is_found() -> None:
    assert keys_in('found["strict_recall"].mean') == {"strict_recall"}
    assert not keys_in('"""Mean strict_recall of a run."""')


@pytest.mark.parametrize(
    "code",
    [
        'report.task == "branches"',
        'if task.name in ("x", "condambigqa"): pass',
        'get_task("branches")',
        'eval.tasks.get_task("branches")',
        'run(task="condambigqa")',
        'FORMATS["conditions"]',
        'TASKS.get("branches")',
        'ATTRIBUTED_TASKS = ("branches",)',
        'TASK: str = "branches"',
        'def f(answer_format="branches"): pass',
        'def f(*, task="branches"): pass',
    ],
)
def test_a_task_that_is_named_is_found(code: str) -> None:
    assert names_in(code)


@pytest.mark.parametrize(
    "code",
    ['record["branches"]', 'include={"branches"}', 'f("branches")', 'x == "branches"'],
)
def test_a_word_of_the_data_is_no_task(code: str) -> None:
    assert not names_in(code)
