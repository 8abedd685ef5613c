"""The command line: every command is a function in `commands/`, registered here."""

import typer

from branchwise.commands.ask import ask
from branchwise.commands.corpus import corpus_app
from branchwise.commands.demo import demo
from branchwise.commands.export import export
from branchwise.commands.report import report
from branchwise.commands.run import resume, run
from branchwise.commands.score import score
from branchwise.commands.tools import tools_app

app = typer.Typer(
    name="branchwise",
    help="A harness for search agents on questions with several readings and many answers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

for command in (demo, ask, run, resume, score, report, export):
    app.command()(command)
app.add_typer(corpus_app, name="corpus", help="Build, index and search passage collections.")
app.add_typer(tools_app, name="tools", help="What an agent may call.")
