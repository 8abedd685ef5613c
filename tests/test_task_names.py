"""A task is named in its own modules alone, and so are its metrics, protocols and variants."""

import ast
from collections.abc import Iterator

import pytest

from branchwise.eval.tasks import TASKS, known_variants, variants_of
from branchwise.graphs.flows import FLOWS
from support.rooms import ROOT, product_files

OF_TASKS = (
    "eval/tasks/",
    # A question format says which task its questions are of.
    "corpora/loaders/forms.py",
)
NAMES = {*TASKS, *FLOWS}
KEYS = {column.key for task in TASKS.values() for column in task.columns}
# Of each task: the protocols that its questions are put by, and the ways in which it is scored.
WAYS = [{*task.flow.protocols, *variants_of(name)} for name, task in TASKS.items()]
# These are words of the data and of reports, too: one alone, away from protocols, names none.
AMBIGUOUS = {"answers", "closed", "standard"}
OWN_WORDS = {*set().union(*WAYS)} - AMBIGUOUS
# "branches" is a word of the data, too: it is a task's name where one of these is beside it.
NAMING = ("task", "flow", "answer_format", "formats")
NAMING_WAYS = ("protocol", "variant")


def texts(node: ast.AST) -> set[str]:
    """The literals of an expression: itself, or the members of a tuple, list or set."""
    members = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    found = (one.value for one in members if isinstance(one, ast.Constant))
    return {value for value in found if isinstance(value, str)}


def is_naming(node: ast.AST | None, words: tuple[str, ...] = NAMING) -> bool:
    """Whether a name, the last part of a dotted one, or what is called is about tasks."""
    if isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return is_naming(ast.Name(node.attr), words) or is_naming(node.value, words)
    return isinstance(node, ast.Name) and any(one in node.id.lower() for one in words)


def beside(node: ast.AST, words: tuple[str, ...]) -> Iterator[ast.AST | None]:
    """Expressions that would name a task if they were its name."""
    match node:
        case ast.Compare(left=left, comparators=others) if any(
            is_naming(one, words) for one in [left, *others]
        ):
            yield from (left, *others)
        case ast.Call(args=arguments) if is_naming(node, words):
            yield from arguments
        case ast.keyword(arg=str(name), value=value) if is_naming(ast.Name(name), words):
            yield value
        case ast.Subscript(value=value, slice=key) if is_naming(value, words):
            yield key
        case ast.Assign(targets=targets, value=value) if any(
            is_naming(one, words) for one in targets
        ):
            yield value
        case ast.AnnAssign(target=target, value=value) if is_naming(target, words):
            yield value
        case ast.arguments():
            last = [*node.posonlyargs, *node.args][::-1]
            defaults = [*zip(last, node.defaults[::-1], strict=False)]
            defaults += [
                (a, d) for a, d in zip(node.kwonlyargs, node.kw_defaults, strict=True) if d
            ]
            yield from (default for one, default in defaults if is_naming(ast.Name(one.arg), words))


def names_in(source: str) -> set[str]:
    """The names of tasks, flows, protocols and variants that a module's code names them by."""
    return {
        text
        for words, names in ((NAMING, NAMES), (NAMING_WAYS, {*set().union(*WAYS)}))
        for node in ast.walk(ast.parse(source))
        for expression in beside(node, words)
        if expression
        for text in texts(expression) & names
    }


def keys_in(source: str) -> set[str]:
    """The keys of metrics, and words of protocols and variants alone, that a module has."""
    found = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    return (KEYS | OWN_WORDS) & {node.value for node in found if isinstance(node.value, str)}


def members(node: ast.AST) -> set[str]:
    """The texts of a collection: the members of a `Literal`, tuple, list or set, a table's keys."""
    match node:
        case ast.Subscript(value=ast.Name("Literal"), slice=one):
            return texts(one)
        case ast.Dict(keys=keys):
            return {text for key in keys if key for text in texts(key)}
        case ast.Tuple() | ast.List() | ast.Set():
            return texts(node)
    return set()


def ways_in(source: str) -> set[str]:
    """The protocols and variants of a task that stand together: several of one task's words."""
    found = [members(node) & ways for node in ast.walk(ast.parse(source)) for ways in WAYS]
    return {word for words in found if len(words) > 1 for word in words}


@pytest.mark.long
def test_no_module_but_a_tasks_own_names_a_task_or_a_metric() -> None:
    sources = {
        file.relative_to(ROOT).as_posix(): file.read_text("utf-8") for file in product_files()
    }
    found = {
        place: names_in(source) | keys_in(source) | ways_in(source)
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
        'if protocol == "closed": pass',
        'choice.variant in ("standard", "x")',
    ],
)
def test_a_task_that_is_named_is_found(code: str) -> None:
    assert names_in(code)


@pytest.mark.parametrize(
    "code",
    [
        'WEIGHTS = {"standard": 1, "closed": 2}',
        'WITHOUT: frozenset[str] = frozenset({"standard", "closed"})',
        'Protocols = Literal["closed", "standard"]',
    ],
)
def test_words_of_one_task_that_stand_together_are_found(code: str) -> None:
    assert ways_in(code)


@pytest.mark.parametrize("word", known_variants())
def test_a_variant_is_found_wherever_it_stands(word: str) -> None:
    assert keys_in(f"Variants = Literal[{word!r}]") == keys_in(f"x == {word!r}") == {word}
    assert keys_in(f"WAYS = {{{word!r}: 1}}") == {word}


@pytest.mark.parametrize(
    "code", ['record["branches"]', 'include={"branches"}', 'f("branches")', 'x == "branches"']
)
def test_a_word_of_the_data_is_no_task(code: str) -> None:
    assert not names_in(code)
