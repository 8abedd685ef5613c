"""The command line: every command is a function in `commands/`, registered here."""

import inspect
from typing import Annotated

import typer

from branchwise.commands.ablate import ablate
from branchwise.commands.ask import ask
from branchwise.commands.benchmarks import benchmarks_app
from branchwise.commands.corpus import corpus_app
from branchwise.commands.demo import demo
from branchwise.commands.errors import errors
from branchwise.commands.export import export
from branchwise.commands.fork import fork
from branchwise.commands.kg import kg_app
from branchwise.commands.mdcr import mdcr_app
from branchwise.commands.merge import merge
from branchwise.commands.questions import questions_app
from branchwise.commands.quiet import add_quiet
from branchwise.commands.recover import recover
from branchwise.commands.report import report
from branchwise.commands.run import resume, run
from branchwise.commands.score import score
from branchwise.commands.serve import serve_app
from branchwise.commands.system_options import SystemCommand
from branchwise.commands.tools import tools_app
from branchwise.commands.trace import trace
from branchwise.commands.verify import verify
from branchwise.commands.world import world_app

app = typer.Typer(
    name="branchwise",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(version("branchwise"))
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """A harness for search agents on questions with several readings and many answers."""


for command in (demo, ask, run, resume, ablate, score, report, errors, trace, fork, export):
    app.command(cls=SystemCommand if command in (ask, run) else None)(command)
for command in (merge, verify, recover):
    app.command()(command)
_GROUPS = (
    (corpus_app, "corpus", "Build, index and search passage collections.", "index C --kind bm25"),
    (kg_app, "kg", "Build, query and search knowledge graphs.", "build W"),
    (world_app, "world", "Make worlds that no model has seen.", "make --entities 600 --out W"),
    (questions_app, "questions", "Generate, check and convert question sets.", "check q.jsonl"),
    (benchmarks_app, "benchmarks", "List what can be run.", "list"),
    (mdcr_app, "mdcr", "Solve and generate questions about conditions.", "--help"),
    (tools_app, "tools", "List, show, try and create tools.", "new film_year"),
    (
        serve_app,
        "serve",
        "Serve the corpus and the tools to other programs.",
        "retrieve --corpus C",
    ),
)
for group, name, about, example in _GROUPS:
    app.add_typer(
        group, name=name, help=f"{about}\n\nExample: branchwise {name} {example}", short_help=about
    )
add_quiet(app)


def _fill(commands: typer.Typer) -> None:
    """Let help fill the terminal: docstrings break their lines where files do."""
    for command in commands.registered_commands:
        said = inspect.cleandoc(command.help or inspect.getdoc(command.callback) or "")
        command.help = "\n\n".join(
            one if one.startswith("Example") else one.replace("\n", " ")
            for one in said.split("\n\n")
        )
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _fill(group.typer_instance)


_fill(app)
