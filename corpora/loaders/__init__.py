"""Question sets from files of many forms."""

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import orjson

from branchwise.base.errors import InputError
from branchwise.corpora.loaders.forms import FORM_OF_TASK, FORMS, OWN, QuestionForm, form_of
from branchwise.corpora.loaders.reading import Loading, PlacedQuestion, RowPlace
from branchwise.corpora.loaders.source import QuestionSource
from branchwise.corpora.questions import Gold, Question, QuestionSet
from branchwise.corpora.rows import DataRow


def load_questions(
    source: str | QuestionSource,
    *,
    fields: Mapping[str, str] | Sequence[str] = (),
    separator: str | None = None,
    require_gold: bool = True,
    gold_of: Callable[[str], Gold] | None = None,
) -> QuestionSet:
    """Questions of `source`: a file in our own format (docs/format.md), or FORM:PATH.

    `fields`: of CSV, JSON, Parquet and hub sets, which column is which field
    (`{"question": "q"}`, or `["question=q"]`); `separator`: what stands between several answers in
    one text. What is kept in `meta` because the format does not know it is a warning, and so is
    what was mended.

    Raises InputError, with file and line, for data that cannot be used: an unknown form, one that
    does not fit the file, an empty set, duplicate ids, and (unless `require_gold` is False) a
    question without gold: of which kind, `gold_of` says for the form's task, or the form itself.
    """
    chosen = source
    if isinstance(chosen, str):
        chosen = QuestionSource.parse(chosen, fields, separator)
    placed = list(each_question(chosen))
    task = placed[0].task
    if require_gold:
        _check_gold(placed, _gold(placed[0], gold_of))
    questions = tuple(item.question for item in placed)
    return QuestionSet(chosen.text, task, questions, questions_digest(questions))


def each_question(source: QuestionSource) -> Iterator[PlacedQuestion]:
    """The questions of a set one at a time; in memory are their ids.

    Raises InputError at the first mistake, a repeated id, or where there are none. Warns at the
    end.
    """
    loading = Loading(source)
    first: dict[str, str] = {}
    for item in read_questions(source, loading):
        if (earlier := first.setdefault(item.question.id, item.where)) != item.where:
            raise InputError(
                f"question id {item.question.id!r} is already used by {earlier}",
                where=item.where,
                remedy="give each question its own id",
            )
        yield item
    if not first:
        remedy = "write one per line"
        raise InputError("holds no questions", where=source.place, remedy=remedy)
    loading.warn()


def read_questions(source: QuestionSource, loading: Loading) -> Iterator[PlacedQuestion]:
    """The questions of a set in their order, one at a time. What is wrong goes to `loading`."""
    form = source.form
    module = form.load()
    rows = source.rows(loading.refuse, strict=loading.is_strict)
    task: str | None = None
    for number, row in enumerate(rows, start=1):
        if number == 1:
            _check_form(source, row)
        loading.rows = number
        at = RowPlace(loading, row.where, number)
        if (question := module.question(row.fields, at)) is not None:
            question = _with_rest(question, row, form, at)
            own = (row.fields.get("task") if form.is_own else None) or form.task
            task = task or own
            if own != task:
                what, remedy = f"is of the task {own!r}, the first of {task!r}", "divide the file"
                at.refuse("task", what, remedy)
            elif _is_writable(question, at):
                yield PlacedQuestion(row.where, question, task)


def questions_digest(questions: Sequence[Question]) -> str:
    """SHA-256 (hexadecimal) of the questions as JSON lines with sorted keys, in order.

    That a format's questions say which benchmark they are of changes nothing in what is asked.
    """
    digest = hashlib.sha256()
    for question in questions:
        record = question.model_dump(mode="json")
        if str(record["meta"].get("benchmark")) in FORMS:
            del record["meta"]["benchmark"]
        line = orjson.dumps(record, option=orjson.OPT_SORT_KEYS)
        digest.update(line + b"\n")
    return digest.hexdigest()


def _check_form(source: QuestionSource, row: DataRow) -> None:
    """Raise InputError if the first row is of another form than the one that was named."""
    form, fields = source.form, row.fields
    if form.takes_fields or form.fits(fields):
        return
    fitting = form_of(fields)
    if fitting and (mark := _first(fitting.mark, fields)) not in form.reads:
        what, remedy = f'it has "{mark}"', f"its fields fit {source.as_form(fitting)}"
    elif form.is_own or fitting or _first(("answer", "answers"), form.reads.keys() & fields):
        return
    else:
        what = f'it lacks "{form.mark[0]}"'
        named = f"{source.by_fields} --field question=FIELD --field answers=FIELD"
        remedy = f"name its fields: {named} (they are {', '.join(fields)})"
    named = "our own format" if form.is_own else f"the form {form.name}"
    raise InputError(f"{named} does not fit: {what}", where=row.where, remedy=remedy)


def _first(marks: Sequence[str], fields: Collection[str]) -> str | None:
    return next((mark for mark in marks if mark in fields), None)


def _with_rest(question: Question, row: DataRow, form: QuestionForm, at: RowPlace) -> Question:
    """The question of a published form, with the other fields of its row in `meta`."""
    if form.is_own or form.takes_fields:
        return question
    rest = {}
    for name, value in row.fields.items():
        known = name in form.keeps
        if value is None or name in form.drops or (name in form.reads and not known):
            continue
        if not known:
            at.keep(name)
        rest[name] = value
    return question.model_copy(update={"meta": {**rest, **question.meta}}) if rest else question


_PLAIN = frozenset((str, bool, float))


def _is_writable(question: Question, at: RowPlace) -> bool:
    """Whether what it holds besides its gold can be written as JSON again."""
    if not question.plan and _PLAIN.issuperset(map(type, question.meta.values())):
        return True
    try:
        orjson.dumps(question.model_dump(mode="json"))
    except (TypeError, ValueError, RecursionError) as error:
        large = "64-bit" in str(error)
        what = "holds a number of more than 64 bits" if large else "is nested too deeply"
        at.refuse("unwritable", what, "write it as a text" if large else "reduce the nesting")
        return False
    return True


def _gold(first: PlacedQuestion, gold_of: Callable[[str], Gold] | None) -> Gold:
    """What the set's questions must say. Raises InputError for an unknown task."""
    if gold_of is None:
        return FORM_OF_TASK.get(first.task, OWN).gold
    try:
        return gold_of(first.task)
    except InputError as error:
        raise InputError(error.what, where=first.where, remedy=error.remedy) from None


def _check_gold(placed: Sequence[PlacedQuestion], gold: Gold) -> None:
    for item in placed:
        if item.question.has_gold(gold):
            continue
        missing, remedy = _missing_gold(item.question, gold)
        what = f"question {item.question.id!r} has no {missing}"
        raise InputError(what, where=item.where, remedy=remedy)


def _missing_gold(question: Question, gold: Gold) -> tuple[str, str]:
    """What it lacks, and how to add it."""
    if gold == "label":
        return "gold label", 'add "ambiguous": true or false'
    if gold == "conditions":
        return "documents with conditions", "load it from mdcr:PATH"
    branches = (branch for gold in question.gold_sets for branch in gold)
    empty = next((branch.name for branch in branches if not branch.answers), None)
    of = f" in branch {empty!r}" if empty else ""
    return f"gold answers{of}", 'add "answers": ["..."]'
