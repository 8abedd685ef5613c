"""The command line: a table of commands, each of whose modules is imported when it is called."""

import inspect
from functools import cache
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import click
import typer
from click.shell_completion import CompletionItem
from typer.core import TyperGroup

from branchwise.commands.quiet import add_quiet

_HELP = {"help_option_names": ["-h", "--help"]}
_TABLE = {
    "demo": ("demo:demo", "See what a language model found, and where it lost answers."),
    "ask": ("ask:ask", "Ask one question and watch the agent work."),
    "run": ("run:run", "Answer a question set with a system and score it."),
    "resume": ("run:resume", "Continue a run that was killed or interrupted."),
    "ablate": ("ablate:ablate", "Run a study's systems and compare each with its base."),
    "score": ("score:score", "Score a run, or a file of predictions."),
    "report": ("report:report", "Show the scores of one run, or of several side by side."),
    "gate": ("gate:gate_runs", "Fail where a run is worse than the one before, for a pipeline."),
    "errors": ("errors:errors", "Say where every missing or wrong answer was lost."),
    "trace": ("trace:trace", "Look at runs, question by question and step by step."),
    "fork": ("fork:fork", "Run the rest of a question again, changed from one step on."),
    "export": ("folders:export", "Write one JSON line for each item of a run."),
    "merge": ("folders:merge", "Join runs, such as those of `run --shard I/N`, into a new one."),
    "verify": ("folders:verify", "Say whether runs are whole."),
    "recover": ("folders:recover", "Save what is whole of a damaged run into a new one."),
    "corpus": ("corpus:corpus_app", "Build, index and search passage collections."),
    "kg": ("kg:kg_app", "Build, query and search knowledge graphs."),
    "world": ("kg:world_app", "Make worlds that no model has seen."),
    "questions": ("questions:questions_app", "Generate, check and convert question sets."),
    "benchmarks": ("published:benchmarks_app", "List what can be run."),
    "mdcr": ("mdcr:mdcr_app", "Solve and generate questions about conditions."),
    "tools": ("tools:tools_app", "List, show, try and create tools."),
    "serve": ("serve:serve_app", "Serve the corpus and the tools to other programs."),
}
"""By name: module and function (or group) in `branchwise.commands`, and a line for the list."""


_EXAMPLES = {
    "corpus": "index C --kind bm25",
    "kg": "build W",
    "world": "make --entities 600 --out W",
    "questions": "check q.jsonl",
    "benchmarks": "list",
    "mdcr": "--help",
    "tools": "new film_year",
    "serve": "retrieve --corpus C",
}


class Commands(TyperGroup):
    """Commands whose modules are imported when they are called, or explained by themselves."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # What lists, completions and suggestions read.
        self.commands = {name: click.Command(name, help=line) for name, (_, line) in _TABLE.items()}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return load_command(cmd_name) if cmd_name in _TABLE else None

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self._listed().format_help(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        return self._listed().shell_complete(ctx, incomplete)

    def _listed(self) -> TyperGroup:
        commands = dict(self.commands)
        return TyperGroup(name=self.name, commands=commands, params=self.params, help=self.help)


@cache
def load_command(name: str) -> click.Command:
    """A command or group of the command line, as click takes it."""
    place, line = _TABLE[name]
    module, _, attribute = place.partition(":")
    command_or_group = getattr(import_module(f"branchwise.commands.{module}"), attribute)
    if isinstance(command_or_group, typer.Typer):
        app = command_or_group
        app.info.help = f"{line}\n\nExample: branchwise {name} {_EXAMPLES[name]}"
    else:
        app = typer.Typer(add_completion=False)
        app.command()(command_or_group)
    _fill(app)
    add_quiet(app)
    command = typer.main.get_command(app)
    command.name = name
    return command


def _fill(commands: typer.Typer) -> None:
    """Let help fill the terminal: docstrings break their lines where files do."""
    for command in commands.registered_commands:
        text = inspect.cleandoc(command.help or inspect.getdoc(command.callback) or "")
        command.help = "\n\n".join(
            part if part.startswith("Example") else part.replace("\n", " ")
            for part in text.split("\n\n")
        )
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _fill(group.typer_instance)


app = typer.Typer(
    name="branchwise",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_HELP,
)


def _print_version(wanted: bool) -> None:
    if wanted:
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
