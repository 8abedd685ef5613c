"""The command line: every command is a function in `commands/`, registered here."""

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
from branchwise.commands.questions import questions_app
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
    add_completion=False,
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
for command in (verify, recover):
    app.command()(command)
app.add_typer(corpus_app, name="corpus", help="Build, index and search passage collections.")
app.add_typer(kg_app, name="kg", help="Build, query and search knowledge graphs.")
app.add_typer(world_app, name="world", help="Make worlds that no model has seen.")
app.add_typer(questions_app, name="questions", help="Generate, check and convert question sets.")
app.add_typer(benchmarks_app, name="benchmarks", help="List what can be run.")
app.add_typer(mdcr_app, name="mdcr", help="Solve and generate questions about conditions.")
app.add_typer(tools_app, name="tools", help="List, show, try and create tools.")
app.add_typer(serve_app, name="serve", help="Serve the corpus and the tools to other programs.")
