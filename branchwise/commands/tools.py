"""`branchwise tools`: list, show, try and create the tools that an agent may call."""

import asyncio
import importlib.util
import keyword
import sys
from collections.abc import Iterable
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from branchwise.base.errors import InputError
from branchwise.base.plugins.declare import read_settings
from branchwise.base.text import printable
from branchwise.commands.options import AsJson, Key, read_keys
from branchwise.corpora.retrieval import MAX_K
from branchwise.report.terminal.console import echo, print_json
from branchwise.tools.registry import installed_tools, known_tools
from branchwise.trace.artifacts import RENDERED
from branchwise.trace.events import Tool

MAX_NAME_CHARS = 64

tools_app = typer.Typer(no_args_is_help=True, add_completion=False)

Spec = Annotated[
    str,
    typer.Argument(
        metavar="SPEC",
        help="A tool by NAME, file.py:NAME, package.module:NAME, or mcp:COMMAND, mcp:URL.",
    ),
]


@tools_app.command("list")
def list_tools(json_output: AsJson = False) -> None:
    """List the tools, one per line: built-in ones, then those of installed packages. No package is
    imported; `branchwise tools show NAME` says what its tools do.

    Example: branchwise tools list
    """
    known, installed = known_tools(), installed_tools()
    if json_output:
        listed = [{"name": n, "from": "branchwise", "summary": s} for n, s in known.items()]
        listed += [{"name": n, "from": package} for n, package in installed.items()]
        print_json(listed)
        return
    _print([f"{name}  {summary}" for name, summary in known.items()])
    _print([f"{name}  of the package {package}" for name, package in installed.items()])


@tools_app.command()
def show(spec: Spec, key: Key = None, json_output: AsJson = False) -> None:
    """Show a tool: what a model sees of it, its limit, settings and source.

    Example: branchwise tools show film_year.py:film_year
    """
    # Lists and help need none of what plug-ins are made of.
    from branchwise.commands.tool_use import cards_of

    cards = cards_of(spec, read_keys(key))
    if json_output:
        print_json([asdict(card) for card in cards])
        return
    for card in cards:
        _print(card.lines())


@tools_app.command("try")
def try_one(
    spec: Spec,
    args: Annotated[
        str, typer.Option(help="Arguments as a model would write them: a JSON object.")
    ] = "{}",
    corpus: Annotated[Path | None, typer.Option(help="Corpus folder.")] = None,
    retriever: Annotated[str | None, typer.Option(help="Index, for local_retriever.")] = None,
    k: Annotated[int | None, typer.Option(help="Passages per search.", min=1, max=MAX_K)] = None,
    kg: Annotated[str | None, typer.Option(help="Knowledge graph: folder or endpoint.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME.KEY=VALUE", help="A plug-in's setting; repeatable."),
    ] = None,
    question: Annotated[str, typer.Option(help="The question, for a tool that reads it.")] = "",
    model: Annotated[str | None, typer.Option(help="Model, for a tool that asks one.")] = None,
    key: Key = None,
    json_output: AsJson = False,
) -> None:
    """Call a tool as an agent would, and print what the model would read. Below it comes what only
    the trace keeps: the artifact. Exits with 1 if the call failed.

    Example: branchwise tools try film_year.py:film_year --args '{"title": "King Kong"}'
    """
    from branchwise.commands.tool_use import read_arguments, try_tool

    call = try_tool(
        spec,
        read_arguments(args),
        corpus=corpus,
        retriever=retriever,
        k=k,
        kg=kg,
        settings=read_settings(set_ or ()),
        question=question,
        model=model,
        keys=read_keys(key),
    )
    result = asyncio.run(call)
    if json_output:
        kept = ("content", "error", "failure", "artifact", "asked", "seconds")
        record = result.record()
        print_json({name: record[name] for name in kept if name in record})
    else:
        _print(_outcome(result))
    sys.exit(1 if result.error is not None else 0)


@tools_app.command()
def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the tool, such as film_year.")
    ],
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path(),
) -> None:
    """Write a tool to start from, with its test: NAME.py and test_NAME.py. Overwrites nothing.

    Example: branchwise tools new film_year
    """
    tool, test = _write_tool(name, out)
    spec = quote(f"{tool}:{name}")
    echo(printable(f"{tool} and {test} are written; next:"))
    echo(printable(f"  python -m pytest {quote(str(test))}"))
    echo(printable(f"  branchwise tools show {spec}"))
    echo(printable(f"""  branchwise tools try {spec} --args '{{"text": "two words"}}'"""))


def _outcome(result: Tool) -> Iterable[str]:
    import orjson

    yield f"the model reads ({result.seconds:.2f} s)"
    yield from _below(result.content)
    artifact, lines = result.found.data, result.found.rendered
    if isinstance(lines, list):
        yield "shown in the trace"
        yield from _below("\n".join(map(str, lines)))
        artifact = result.found.without(RENDERED)
    if artifact:
        yield "artifact"
        yield from _below(orjson.dumps(artifact, option=orjson.OPT_INDENT_2).decode())


def _below(text: str) -> Iterable[str]:
    return (f"  {line}" for line in text.splitlines() or [""])


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        echo(printable(line))


def _write_tool(name: str, folder: Path) -> tuple[Path, Path]:
    _check_name(name)
    texts = {
        folder / file.format(name): (files("branchwise.commands") / template).read_text("utf-8")
        for file, template in (("{}.py", "new_tool.py.txt"), ("test_{}.py", "new_tool_test.py.txt"))
    }
    for path in texts:
        if path.exists() or path.is_symlink():
            problem = "already exists and is not overwritten"
            remedy = "choose another name, or another folder with --out"
            raise InputError(problem, where=str(path), remedy=remedy)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            with path.open("x", encoding="utf-8") as file:
                file.write(text.format(name=name, file=f"{name}.py"))
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise InputError(
            f"cannot be written: {error.strerror}", where=str(folder), remedy="see --out"
        ) from None
    tool, test = texts
    return tool, test


def _check_name(name: str) -> None:
    wrong = None
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name):
        wrong = "is not a valid function name"
    elif len(name) > MAX_NAME_CHARS or name.startswith(("_", "test_")):
        limits = f"at most {MAX_NAME_CHARS} characters, no _ or test_ first"
        wrong = f"is not a valid tool name ({limits})"
    elif name in known_tools():
        wrong = "is a built-in tool"
    elif name in sys.builtin_module_names or name in sys.stdlib_module_names or _is_module(name):
        wrong = "is an installed module: the test could not import the tool"
    elif name in ("tool", "settings", "Settings", "ToolError", "BaseModel", "asyncio"):
        wrong = "is a name that the generated file uses itself"
    if wrong:
        raise InputError(f"{name[:80]!r} {wrong}", remedy="choose one like film_year")


def _is_module(name: str) -> bool:
    # What is in the working folder is checked later.
    module = importlib.util.find_spec(name)
    origin = Path(module.origin) if module and module.origin else None
    return module is not None and not (origin and origin.parent == Path.cwd())
