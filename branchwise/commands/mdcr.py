"""`branchwise mdcr`: solve, generate and restrict questions about documents with conditions."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal

import orjson
import typer

from branchwise.agents.caller import ModelCaller
from branchwise.agents.decoding import Decoding
from branchwise.agents.prompt_files import Prompts
from branchwise.agents.refusals import ApiChoice
from branchwise.agents.reply import ModelError
from branchwise.agents.spec import ModelSpec, check_ready
from branchwise.base.atomic import write_named
from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.keys import Keys
from branchwise.base.text import one_line, printable
from branchwise.commands.options import AsJson, Key, WriterApi, read_keys
from branchwise.commands.question_files import check_place
from branchwise.corpora.conditions.conditions_file import conditions_record, read_conditions
from branchwise.corpora.conditions.documents import (
    ConditionsAnswer,
    ConditionsProblem,
    ConditionsSet,
    Scenario,
)
from branchwise.corpora.conditions.question import describe_conditions
from branchwise.corpora.conditions.solver import Solution
from branchwise.corpora.loaders.mdcr import authors_gold, questions_of, solved
from branchwise.eval.judging.consultant import Consultant, RequestProgress, role_spec
from branchwise.report.terminal.conditional_answers import (
    Differences,
    answer_lines,
    answer_record,
    balance_table,
    differences_table,
    scenario_lines,
    statistics_record,
    statistics_table,
)
from branchwise.report.terminal.console import console, echo, print_json
from branchwise.report.terminal.progress import ProgressBar
from branchwise.runs.store.results import StoredJudgements
from branchwise.worlds.conditions.balance import answer_balance
from branchwise.worlds.conditions.generate import (
    GENERATOR,
    DraftSet,
    MdcrSettings,
    draft_set,
    single_documents,
)
from branchwise.worlds.conditions.rewording import reword

mdcr_app = typer.Typer(no_args_is_help=True, add_completion=False)

File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Documents, relations and scenarios: JSON, or the folder that MDCR's authors publish.",
    ),
]
GoldWay = Annotated[
    Literal["minimal", "authors"],
    typer.Option(
        "--gold", help="Minimal groups, or answers as the program of MDCR's authors gives them."
    ),
]


@mdcr_app.command()
def solve(
    file: File,
    scenario: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="Only this scenario (repeatable).")
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Say from which expressions, values and relations groups come."
        ),
    ] = False,
    gold: GoldWay = "minimal",
    json_output: AsJson = False,
) -> None:
    """Answer the questions of a file: what can be had, and what else must be true.

    Example: branchwise mdcr solve mdcr.json --explain
    """
    if explain and gold == "authors":
        raise InputError("explains minimal groups", where="--explain", remedy="leave out --gold")
    answered = _answered(read_conditions(file), scenario or [], gold, explain=explain)
    if json_output:
        print_json([answer_record(*answer) for answer in answered])
        return
    last = None
    for scenario_, problem, answer, solution in answered:
        lines = [*answer_lines(problem, answer, solution)]
        if scenario_ is not last:
            lines[:0] = scenario_lines(scenario_, problem, explain=explain)
        last = scenario_
        for line in lines:
            echo(printable(line))


def _check_known(documents: ConditionsSet, scenario: Scenario) -> None:
    if lacks := documents.lacks(scenario):
        problem = f"its {' and '.join(lacks)} are not known"
        raise InputError(problem, where=documents.place(scenario), remedy="add them to the file")


def _answered(
    documents: ConditionsSet, ids: list[str], gold: str, *, explain: bool
) -> Iterator[tuple[Scenario, ConditionsProblem, ConditionsAnswer, Solution | None]]:
    known = {scenario.id: scenario for scenario in documents.scenarios}
    for id in ids:
        if id not in known:
            remedy = did_you_mean(id, known)
            raise InputError(f"unknown scenario {id!r}", where=documents.path, remedy=remedy)
    for scenario in (known[id] for id in ids or known):
        _check_known(documents, scenario)
        for kind in scenario.kinds:
            problem = documents.problem(scenario, kind)
            place = f"{documents.place(scenario)}, {kind}"
            if gold == "authors":
                yield scenario, problem, authors_gold(problem, place), None
            else:
                solution = solved(problem, place)
                yield scenario, problem, solution.answer, solution if explain else None


@mdcr_app.command()
def info(file: File, gold: GoldWay = "minimal", json_output: AsJson = False) -> None:
    """Count a file's documents, groups, scenarios and questions, beside the published numbers; with
    --gold authors also the questions that their program answers otherwise.

    Example: branchwise mdcr info mdcr.json
    """
    _print_statistics(read_conditions(file), gold, json_output=json_output)


@mdcr_app.command()
def generate(
    out: Annotated[Path, typer.Option(help="JSON file to write.")],
    documents: Annotated[int, typer.Option(help="How many documents.")] = 40,
    groups: Annotated[
        int,
        typer.Option(help="How many groups of 2 to 5 documents, for 10 scenarios each."),
    ] = 164,
    scenarios: Annotated[
        int | None, typer.Option(help="At most so many scenarios. Default: all that come about.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same file.")] = 1,
    writer: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Model that words what states conditions.")
    ] = None,
    concurrency: Annotated[int, typer.Option(help="Requests to the writer at a time.")] = 8,
    api: WriterApi = "auto",
    key: Key = None,
) -> None:
    """Make documents, relations between their conditions, and scenarios, like MDCR's.

    A writer's replies are kept beside the file: after an interruption the same command goes on.

    Example: branchwise mdcr generate --seed 1 --out mdcr.json
    """
    check_place(out)
    settings = MdcrSettings(documents, groups, scenarios, seed)
    wording = (writer or "grammar").partition("@")[0]  # not where the model is
    made_by = {"generator": GENERATOR, "version": version("branchwise")}
    about = {"generated": True, **made_by, **asdict(settings), "wording": wording}
    keys = read_keys(key)
    drafts = draft_set(settings)
    if writer is not None:
        drafts = _reworded(drafts, writer, out, concurrency, api, keys)
    generated = drafts.finished(about)
    _write(out, generated)
    left_out = drafts.tries - len(generated.scenarios)
    echo(
        f"{drafts.tries:,} scenarios were drawn; left out as contradictory, endless, or too many "
        f"in which all documents can be had: {left_out:,}"
    )
    _print_statistics(generated)
    echo(f"next: branchwise mdcr solve {out} --explain")
    echo(f"      branchwise mdcr control {out} --out single.json")


@mdcr_app.command()
def control(
    file: File,
    out: Annotated[Path, typer.Option(help="JSON file to write.")],
    seed: Annotated[int, typer.Option(help="The same seed gives the same file.")] = 1,
) -> None:
    """Ask about one document at a time: as many scenarios, each restricted to one of its documents.

    Example: branchwise mdcr control mdcr.json --out single.json
    """
    check_place(out)
    read = read_conditions(file)
    for scenario in read.scenarios:
        _check_known(read, scenario)
    single = single_documents(read, seed)
    _write(out, single)
    _print_statistics(single)


def _write(out: Path, made: ConditionsSet) -> None:
    write_named(out, orjson.dumps(conditions_record(made), option=orjson.OPT_INDENT_2) + b"\n")
    echo(f"{out}: {len(made.documents):,} documents, {len(made.scenarios):,} scenarios")


def _print_statistics(
    documents: ConditionsSet, gold: str = "minimal", *, json_output: bool = False
) -> None:
    questions = questions_of(documents)
    counted = describe_conditions(documents, questions)
    balance = answer_balance(documents, questions)
    differences = _differences(documents) if gold == "authors" else None
    if json_output:
        record = statistics_record(counted, balance)
        print_json(record | ({"authors": differences} if differences else {}))
        return
    console().print(statistics_table(counted))
    console().print(balance_table(balance))
    if differences:
        console().print(differences_table(differences))


def _differences(documents: ConditionsSet) -> Differences:
    """By kind of question, how many answers of the authors' program differ, short and in groups."""
    counts: Differences = {}
    ours = _answered(documents, [], "minimal", explain=False)
    theirs = _answered(documents, [], "authors", explain=False)
    for (_, problem, our, _), (_, _, their, _) in zip(ours, theirs, strict=True):
        count = counts.setdefault(problem.kind, {"questions": 0, "short answers": 0, "groups": 0})
        count["questions"] += 1
        count["short answers"] += our.short != their.short
        count["groups"] += {*map(frozenset, our.groups)} != {*map(frozenset, their.groups)}
    return counts


def _reworded(
    drafts: DraftSet, spec: str, out: Path, concurrency: int, api: ApiChoice, keys: Keys
) -> DraftSet:
    """The drafts in a model's words. Exits with 1 where the model cannot go on."""
    writer = BulkWriter(role_spec(ROLE, spec), replies_file(out), concurrency, api, keys)
    try:
        with ProgressBar("writing", "texts") as progress:
            reworded, slips = reword(drafts, lambda prompts: writer.replies(prompts, progress))
    except ModelError as error:
        line = printable(one_line(str(error)))
        typer.echo(f"branchwise: the writer failed: {line}", err=True)
        typer.echo(f"its replies so far are in {replies_file(out)}; run this again", err=True)
        raise typer.Exit(1) from None
    echo(f"replies of the writer: {writer.fresh:,} new, {writer.kept:,} kept")
    if slips:
        echo(f"worded by the grammar, for the writer strayed: {sum(slips.values()):,}")
        for reason, count in sorted(slips.items(), key=lambda entry: (-entry[1], entry[0])):
            echo(f"  {count:>7,}  {reason}")
    return reworded


ROLE = "writer"


def replies_file(out: Path) -> Path:
    """Where the replies for a file are kept: beside it."""
    return out.with_name(f"{out.name}.replies.sqlite")


@dataclass
class BulkWriter:
    """A model's replies to many prompts; what was answered once is kept and not asked again."""

    spec: ModelSpec
    kept_in: Path
    concurrency: int
    api: ApiChoice
    keys: Keys
    fresh: int = 0
    kept: int = 0

    def replies(self, prompts: Sequence[str], progress: RequestProgress) -> list[str | None]:
        """The text of each reply, None where the model failed. Raises ModelError if for all."""
        return asyncio.run(self._replies(prompts, progress))

    async def _replies(self, prompts: Sequence[str], progress: RequestProgress) -> list[str | None]:
        from langchain_core.messages import HumanMessage

        caller = ModelCaller(self.spec, Decoding(api=self.api), Prompts.load(), keys=self.keys)

        async def reply(prompt: str) -> str | None:
            try:
                return str((await asking.ask([HumanMessage(prompt)])).message.text)
            except ModelError as error:
                if error.is_everywhere:
                    raise
                return None

        with StoredJudgements(self.kept_in) as judgements:
            asking = Consultant(caller, judgements, ROLE, partial(check_ready, keys=self.keys))
            pace = self.concurrency
            try:
                texts = await asking.each(prompts, reply, concurrency=pace, progress=progress)
            finally:
                self.fresh = asking.consulted.fresh.calls
                self.kept = asking.consulted.cached.calls
                await caller.aclose()
        return [texts[prompt] for prompt in prompts]
