"""The forms of question sets: a row here, and the function that reads one.

`--questions`, its help and refusals, `questions forms` and the table of docs/data.md are made of
the rows (docs/contributing/form.md).
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from branchwise.base.errors import Refuse
from branchwise.corpora.rows import DataRow, RowLayout, read_rows

if TYPE_CHECKING:
    from branchwise.corpora.loaders.source import RowPlace
    from branchwise.corpora.questions import Gold, Question


RowReader = Callable[[Mapping[str, Any], "RowPlace"], "Question | None"]
_OWN = (
    "id", "question", "task", "answers", "branches", "alternatives", "ambiguous", "passages",
    "plan", "meta",
)  # fmt: skip
_FIELDS = (
    "id", "question", "answers", "aliases", "branches", "alternatives", "ambiguous", "passages",
)  # fmt: skip
_BY_FIELD = dict(zip(_FIELDS, _FIELDS, strict=True)) | {"aliases": "aliases of the one answer"}
_MULTIHOP = {
    "_id": "id",
    "id": "id",
    "question": "question",
    "answer": "the one answer",
    "context": "passages",
    "supporting_facts": "the answer's support",
}
_OF_COLUMNS = "loaders.native.question_by_fields"
_BY_LAYOUT: tuple[tuple[str, str, RowLayout | None], ...] = (
    ("csv", "CSV", "csv"),
    ("jsonl", "JSON, a line each or one array", "json"),
    ("parquet", "Parquet", "parquet"),
    ("hf", "a set of the Hugging Face Hub", None),
)


@dataclass(frozen=True)
class QuestionForm:
    """A form of question sets.

    `reader`: the function, by its path in `corpora`, that makes a question of a row, or None where
    the row's place refused it. `reads`: the fields that are read, and what each becomes; `keeps`:
    those that `meta` keeps as they are; `drops`: neither. `mark`: one of these fields is in every
    row, and tells the form from others; `unlike`: beside one of these it does not. `origin`,
    `licence`: of the data. `task`: what questions are asked and scored as by default. `gold`: what
    they have of it. `has_parts`: branches are things that are asked about, not readings.
    `takes_fields`: the user says which column is which field. `row_reader`: the function that makes
    rows of a file that has none. `is_folder`: it is a folder, not a file. `is_own`: our own format,
    whose mistakes its writer can mend.
    """

    name: str
    title: str
    reader: str
    reads: Mapping[str, str]
    keeps: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()
    mark: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    origin: str = ""
    licence: str = ""
    task: str = "branches"
    gold: "Gold" = "answers"
    has_parts: bool = False
    layout: RowLayout | None = None
    takes_fields: bool = False
    row_reader: str = ""
    is_folder: bool = False
    is_own: bool = False

    @property
    def prefix(self) -> str:
        """How it is written: `ambignq:PATH`."""
        if self.is_own:
            return "PATH"
        if self.name == "hf":
            return "hf:NAME[:CONFIG[:SPLIT]]"
        return f"{self.name}:{'DIR' if self.is_folder else 'PATH'}"

    def fits(self, row: Collection[str]) -> bool:
        """Whether a row with these fields is of this form, by its marks."""
        return any(m in row for m in self.mark) and not any(name in row for name in self.unlike)

    def load(self) -> RowReader:
        """The function that reads its rows, with the libraries that it needs."""
        return cast(RowReader, _function(self.reader))

    def rows(self, path: Path, refuse: Refuse, *, strict: bool) -> Iterator[DataRow]:
        """The rows of a file of this form, one at a time; `strict`: as `read_rows` has it."""
        if self.row_reader:
            return cast(Iterator[DataRow], _function(self.row_reader)(path, refuse))
        return read_rows(path, self.layout, refuse, strict=strict)


def _function(path: str) -> Callable[..., Any]:
    module, _, name = path.rpartition(".")
    return cast(Callable[..., Any], getattr(import_module(f"branchwise.corpora.{module}"), name))


OWN = QuestionForm(
    name="",
    title="Branchwise's own format",
    reader="loaders.native.native_question",
    reads=dict(zip(_OWN, _OWN, strict=True)),
    mark=("answers", "branches"),
    origin="docs/format.md",
    is_own=True,
)
_FORMS = (
    QuestionForm(
        name="ambignq",
        title="AmbigNQ",
        reader="loaders.ambignq.ambignq_question",
        reads={"id": "id", "question": "question", "annotations": "branches and alternatives"},
        keeps=("nq_answer", "nq_doc_title", "viewed_doc_titles"),
        drops=("used_queries",),
        mark=("annotations",),
        unlike=("qa_pairs",),
        origin="https://nlp.cs.washington.edu/ambigqa",
        licence="CC BY-SA 3.0",
        task="ambigqa",
    ),
    QuestionForm(
        name="asqa",
        title="ASQA",
        reader="loaders.ambignq.asqa_question",
        reads={
            "sample_id": "id",
            "ambiguous_question": "question",
            "question": "question",
            "qa_pairs": "branches",
        },
        keeps=("annotations", "answer", "split", "wikipages"),
        mark=("qa_pairs",),
        origin="https://github.com/google-research/language/tree/master/language/asqa",
        licence="Apache-2.0",
        row_reader="loaders.ambignq.asqa_rows",
    ),
    QuestionForm(
        name="beir",
        title="BEIR's data sets: no answers, for `corpus eval`",
        reader="judgements.beir_question",
        reads={"_id": "id", "text": "question", "qrels": "the judged passages in meta"},
        keeps=("metadata",),
        mark=("qrels",),
        unlike=("question",),
        origin="https://github.com/beir-cellar/beir",
        licence="that of each set",
        row_reader="judgements.beir_rows",
        is_folder=True,
    ),
    QuestionForm(
        name="cambignq",
        title="CAmbigNQ",
        reader="loaders.ambignq.cambignq_question",
        reads={
            "id": "id",
            "question": "question",
            "clarification_question": "branches and meta",
            "clarification_answers": "their answers",
            "used_queries": "the queries in meta",
            "dqs": "meta",
            "nq_doc_title": "meta",
            "viewed_doc_titles": "meta",
        },
        mark=("clarification_question",),
        origin="https://github.com/DongryeolLee96/AskCQ",
        licence="none stated",
    ),
    QuestionForm(
        name="condambigqa",
        title="CondAmbigQA",
        reader="loaders.published.condambigqa_question",
        reads={"id": "id", "question": "question", "properties": "branches", "ctxs": "passages"},
        keeps=("answer",),
        mark=("properties",),
        origin="https://github.com/innovation64/CondAmbigQA",
        licence="academic use",
        task="condambigqa",
    ),
    QuestionForm(
        name="fanoutqa",
        title="FanOutQA",
        reader="loaders.published.fanoutqa_question",
        reads={"id": "id", "question": "question", "answer": "branches by its keys"},
        keeps=("answer", "categories", "decomposition", "necessary_evidence"),
        mark=("decomposition", "necessary_evidence"),
        origin="https://github.com/zhudotexe/fanoutqa",
        licence="CC BY-SA 4.0",
        task="fanoutqa",
        has_parts=True,
    ),
    QuestionForm(
        name="flashrag",
        title="FlashRAG's data sets",
        reader="loaders.short_answers.flashrag_question",
        reads={"id": "id", "question": "question", "golden_answers": "forms of the one answer"},
        keeps=("metadata",),
        mark=("golden_answers",),
        origin="https://huggingface.co/datasets/RUC-NLPIR/FlashRAG_datasets",
        licence="that of each set",
    ),
    QuestionForm(
        name="hotpotqa",
        title="HotpotQA",
        reader="loaders.short_answers.multihop_question",
        reads=_MULTIHOP,
        keeps=("level", "type", "supporting_facts"),
        mark=("supporting_facts", "context"),
        unlike=("evidences",),
        origin="https://hotpotqa.github.io",
        licence="CC BY-SA 4.0",
    ),
    QuestionForm(
        name="2wiki",
        title="2WikiMultihopQA",
        reader="loaders.short_answers.multihop_question",
        reads={**_MULTIHOP, "answer_id": "the answer's qid"},
        keeps=("entity_ids", "evidences", "evidences_id", "supporting_facts", "type"),
        mark=("evidences",),
        origin="https://github.com/Alab-NII/2wikimultihop",
        licence="Apache-2.0",
    ),
    QuestionForm(
        name="mdcr",
        title="MDCR: the published folder, or our own form",
        reader="loaders.mdcr.mdcr_question",
        reads={
            "mdcr": "the form's version",
            "about": "meta",
            "documents": "passages and meta",
            "relations": "meta",
            "scenarios": "questions, one of each kind",
        },
        mark=("mdcr",),
        origin="https://github.com/peterbaile/mdcr",
        licence="none stated",
        task="mdcr",
        gold="conditions",
        row_reader="loaders.mdcr.mdcr_rows",
    ),
    QuestionForm(
        name="musique",
        title="MuSiQue-Ans",
        reader="loaders.short_answers.musique_question",
        reads={
            "id": "id",
            "question": "question",
            "answer": "the one answer",
            "answer_aliases": "its aliases",
            "paragraphs": "passages and support",
            "answerable": "refused if false",
        },
        keeps=("question_decomposition",),
        mark=("paragraphs", "answer_aliases"),
        origin="https://github.com/stonybrooknlp/musique",
        licence="CC BY 4.0",
    ),
    QuestionForm(
        name="qampari",
        title="QAMPARI",
        reader="loaders.short_answers.qampari_question",
        reads={
            "qid": "id",
            "id": "id",
            "question_text": "question",
            "question": "question",
            "answer_list": "answers",
            "answers": "answers",
        },
        keeps=("answer",),
        mark=("answer_list",),
        origin="https://samsam3232.github.io/qampari",
        licence="CC0",
    ),
    *(
        QuestionForm(name, title, _OF_COLUMNS, _BY_FIELD, layout=layout, takes_fields=True)
        for name, title, layout in _BY_LAYOUT
    ),
)
FORMS: Mapping[str, QuestionForm] = {form.name: form for form in _FORMS}
"""The forms by their prefixes; our own has none."""
FORM_OF_TASK: Mapping[str, QuestionForm] = {form.task: form for form in (*_FORMS, OWN)}
"""A form whose questions are of the task: what a file in our own format that names it has."""


def form_of(row: Mapping[str, Any]) -> QuestionForm | None:
    """The form that a row is of, by its marks; None of none, and if none has marks in it."""
    return next((form for form in (*_FORMS, OWN) if form.fits(row)), None)
