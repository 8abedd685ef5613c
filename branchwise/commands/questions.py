"""`branchwise questions`: generate and inspect question sets."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Literal

import typer

from branchwise.agents.decoding import Decoding
from branchwise.agents.text_model import SpecTextModel
from branchwise.base.errors import InputError
from branchwise.base.text import counted, one_line, printable
from branchwise.commands.options import (
    QUESTIONS,
    AsJson,
    Field,
    Key,
    Separator,
    WriterApi,
    read_keys,
    read_questions,
)
from branchwise.commands.question_files import (
    check,
    check_place,
    convert,
    forms,
    made_here,
    schema,
    write_questions,
)
from branchwise.commands.question_review import review
from branchwise.commands.report_files import write_folder
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.questions import Question
from branchwise.kg.answers import KgError
from branchwise.kg.world_folder import WORLD_FILE
from branchwise.report.figures.questions import question_figures
from branchwise.report.terminal.console import echo, progress_console
from branchwise.report.terminal.progress import ProgressBar
from branchwise.report.terminal.question_tables import (
    accepted,
    as_json,
    print_statistics,
    question_lines,
    summary,
)
from branchwise.worlds.questions.drafts import USED_UP, PlanLimits
from branchwise.worlds.questions.generate import generate as generate_questions
from branchwise.worlds.questions.sources import FactSource, GenerationTally, Settings, open_source
from branchwise.worlds.questions.statistics import describe_questions
from branchwise.worlds.questions.wording.writing import (
    EntityChooser,
    ModelWriter,
    Reviewer,
    TextModelError,
    Verbalizer,
)

questions_app = typer.Typer(no_args_is_help=True, add_completion=False)

for command in (check, convert, forms, schema, review):
    questions_app.command()(command)

SupportCorpus = Annotated[
    Path | None, typer.Option(help="Corpus with statements, for support. Default: the world's.")
]
SharedNamesFile = Annotated[
    Path | None, typer.Option(help="Shared names, JSONL. Default: the world's, or by label.")
]
AskedGraph = Annotated[
    str, typer.Option(help="World folder, graph folder, N-Triples file, or endpoint.")
]
AmbiguousShare = Annotated[
    float, typer.Option(help="Share of questions about a name with several readings.")
]
LookedAt = Annotated[
    int,
    typer.Option(
        min=0,
        metavar="N",
        help="Only questions for which N entities, over all readings, must be looked at.",
    ),
]
ChosenDomains = Annotated[
    str | None, typer.Option(help="Domains, comma-separated. Default: all of the world's.")
]
WriterSpec = Annotated[str | None, typer.Option(metavar="SPEC", help="Model that words questions.")]
ReviewerSpec = Annotated[
    str | None, typer.Option(metavar="SPEC", help="Model that judges templates and questions.")
]
WriterSees = Annotated[
    Literal["plan", "answers"],
    typer.Option(help="What the writer goes by: the plan alone, or its answers, too."),
]
EntitiesBy = Annotated[
    str | None, typer.Option(metavar="SPEC", help="Model that chooses what plans are about.")
]
GraphSchema = Annotated[
    Path | None, typer.Option(help="YAML schema of the graph, if it is not a world.")
]

OF_A_WORLD = 600


@questions_app.command()
def generate(
    kg: AskedGraph,
    n: Annotated[int, typer.Option("--n", help="How many questions.")],
    out: Annotated[Path, typer.Option(help="JSONL file to write.")],
    ambiguous: AmbiguousShare = 0.5,
    seed: Annotated[int, typer.Option(help="The same seed gives the same questions.")] = 1,
    looked_at: LookedAt = 0,
    domains: ChosenDomains = None,
    names: SharedNamesFile = None,
    corpus: SupportCorpus = None,
    schema: GraphSchema = None,
    writer: WriterSpec = None,
    reviewer: ReviewerSpec = None,
    writer_sees: WriterSees = "plan",
    entities_by: EntitiesBy = None,
    api: WriterApi = "auto",
    key: Key = None,
) -> None:
    """Make questions with complete answers from plans over a graph. If fewer can be made, those are
    written, and the exit code is 1.

    Example: branchwise questions generate --kg W --n 100 --ambiguous 0.5 --out q.jsonl
    """
    check_place(out)
    chosen = [name.strip() for name in (domains or "").split(",") if name.strip()]
    if domains is not None and not chosen:
        raise InputError("no domain is given", remedy="leave out --domains for all")
    if writer_sees == "answers" and writer is None:
        raise InputError("no model is the writer", where="--writer-sees", remedy="add --writer")
    keys = read_keys(key)
    with ExitStack() as opened:
        try:
            source = open_source(
                kg, schema=schema, names=names, corpus=corpus, domains=chosen, keys=keys
            )
        except KgError as error:
            _complain("the graph failed", error)
            raise typer.Exit(1) from None
        opened.callback(source.close)
        limits = PlanLimits(looked_at=looked_at)
        settings = Settings(n, ambiguous, source.domains, source.common, seed, limits)
        asked = {
            spec: opened.enter_context(SpecTextModel.of_spec(spec, Decoding(api=api), keys))
            for spec in dict.fromkeys(filter(None, (writer, reviewer, entities_by)))
        }
        words = Verbalizer(
            source.facts.schema,
            settings.seed,
            ModelWriter(asked[writer], sees_answers=writer_sees == "answers") if writer else None,
            Reviewer(asked[reviewer]) if reviewer else None,
            EntityChooser(asked[entities_by]) if entities_by else None,
        )
        tally = GenerationTally()
        _write(out, _made(source, settings, tally, words))
    _report(out, tally, words, settings)


@questions_app.command()
def info(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SRC",
            help=f"Question set: {QUESTIONS}; or a world's folder: {OF_A_WORLD} questions made "
            "from it, half of them ambiguous.",
        ),
    ],
    id: Annotated[
        str | None, typer.Option(help="Show only this question, with its plan and branches.")
    ] = None,
    field: Field = None,
    separator: Separator = None,
    figures: Annotated[
        Path | None,
        typer.Option(
            "--figures",
            metavar="DIR",
            help="Draw the distributions as SVG and PDF files for papers, with their data as CSV.",
        ),
    ] = None,
    json_output: AsJson = False,
) -> None:
    """Measure a question set; one with plans beside the published numbers of DeepAmbigQA.

    Example: branchwise questions info q.jsonl --figures figures
    """
    if Path(source, WORLD_FILE).is_file():
        # What `generate` makes of a world with its first seed.
        world, tally = open_source(source), GenerationTally()
        settings = Settings(OF_A_WORLD, 0.5, world.domains, world.common)
        words = Verbalizer(world.facts.schema, settings.seed)
        questions = tuple(_made(world, settings, tally, words))
        if not json_output and id is None:
            echo(f"{accepted(tally)}\n")
    else:
        named = read_questions(source, field, separator)
        questions = load_questions(named, require_gold=False).questions
    if id is not None:
        chosen = next((question for question in questions if question.id == id), None)
        if chosen is None:
            problem = f"no question has the id {printable(id)!r}"
            raise InputError(problem, where=source, remedy="correct --id")
        for line in question_lines(chosen):
            echo(printable(line))
        return
    statistics = describe_questions(questions)
    if figures:
        write_folder(figures, drawn := question_figures(statistics))
        line = f"written: {figures}: {', '.join(drawn)}"
        progress_console().print(line, markup=False, soft_wrap=True)
    if json_output:
        echo(as_json(statistics))
    else:
        print_statistics(statistics)


def _complain(failure: str, error: Exception) -> None:
    typer.echo(f"branchwise: {failure}: {printable(one_line(str(error)))}", err=True)


def _made(
    source: FactSource, settings: Settings, tally: GenerationTally, words: Verbalizer
) -> Iterator[Question]:
    """Questions as they are made, with progress, until a server fails."""
    questions = generate_questions(
        source.facts, source.names, settings, tally=tally, support=source.support, words=words
    )
    with ProgressBar("generating", "questions") as progress:
        try:
            for done, question in enumerate(questions, start=1):
                progress(done, settings.questions)
                yield question
        except TextModelError as error:
            _complain("the model failed", error)
        except KgError as error:
            _complain("the graph failed", error)


def _write(out: Path, questions: Iterator[Question]) -> None:
    """Write those that were made, also where an error ends them: models were paid for them."""
    made: list[Question] = []
    try:
        made.extend(questions)
    finally:
        if made:
            write_questions(out, map(made_here, made))


def _report(out: Path, tally: GenerationTally, words: Verbalizer, settings: Settings) -> None:
    for line in summary(tally, words.strayed):
        echo(line)
    if tally.accepted < settings.questions:
        why = f"; given up: {', '.join(tally.exhausted)}" if tally.exhausted else ""
        if (most := settings.most_of_a_name) and tally.rejected[USED_UP]:
            why += f"; no name may be in more than {most}"
        written = f", which are in {out}" if tally.accepted else ""
        count = f"{tally.accepted:,} of {counted(settings.questions, 'question')}"
        typer.echo(f"branchwise: only {count} could be made{written}{why}", err=True)
        raise typer.Exit(1)
    echo(f"{out}: {counted(tally.accepted, 'question')}")
    echo(f"next: branchwise questions info {out}")
