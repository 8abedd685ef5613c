"""Published questions with short answers: of several hops, with many answers, FlashRAG's sets."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from branchwise.corpora.loaders.answers import GoldReader
from branchwise.corpora.loaders.source import RowPlace
from branchwise.corpora.passages import Passage, make_passage
from branchwise.corpora.questions import Question
from branchwise.corpora.written_lists import members


def multihop_question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry of HotpotQA or 2WikiMultihopQA.

    Format: the published JSON arrays (hotpotqa.github.io; github.com/Alab-NII/2wikimultihop).
    `context`, a list of titles and sentences, becomes passages; `supporting_facts` names sentences
    by title and number, and their paragraphs become the answer's support. Derived files, which have
    only `question` and `answer` (a text, or a list of its forms), are read too.
    On the Hub both lists are objects of columns ({"title": [...], "sentences": [...]}).
    """
    reader = GoldReader(at)
    id, answer = record.get("_id"), record.get("answer")
    passages = []
    for paragraph in reader.entries(_rows(record.get("context"), "title", "sentences"), "context"):
        match paragraph:
            case [str(title), [*sentences]] if all(isinstance(text, str) for text in sentences):
                # Those of HotpotQA begin with a space, those of 2WikiMultihopQA do not.
                spaced = (text if text[:1].isspace() else f" {text}" for text in sentences)
                passages.append(make_passage(title, "".join(spaced).strip()))
            case _:
                reader.refuse("form", '"context" is not a list of [title, [sentence, ...]]')
                break
    titles = set()
    facts = _rows(record.get("supporting_facts"), "title", "sent_id")
    for fact in reader.entries(facts, "supporting_facts"):
        match fact:
            case [str(title), int()]:
                titles.add(title)
            case _:
                reader.refuse("form", '"supporting_facts" is not a list of [title, sentence]')
                break
    support = tuple(passage.id for passage in passages if passage.title in titles)
    qid = reader.optional_text(record.get("answer_id"), '"answer_id"')
    gold = reader.one_of(answer, "answer") if answer not in (None, "") else None
    return reader.made(
        id=reader.id(record.get("id") if id is None else id),
        question=reader.question_text(record.get("question")),
        branches=reader.only(gold and replace(gold, support=support, qid=qid)),
        passages=tuple(passages),
        meta={"benchmark": at.loading.source.form.name},
    )


def _rows(value: Any, *columns: str) -> Any:
    """The rows of an object of these columns, as lists; anything else as it is."""
    if not isinstance(value, Mapping) or {*value} != {*columns}:
        return value
    held = [value[column] for column in columns]
    if not all(isinstance(column, list) for column in held) or len({*map(len, held)}) > 1:
        return value
    return [list(row) for row in zip(*held, strict=True)]


def musique_question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of a line of MuSiQue-Ans: two to four hops.

    Format: the published JSONL (github.com/stonybrooknlp/musique), or one array of its lines.
    `paragraphs` become passages, those with `is_supporting` the answer's support. A question that
    is marked as unanswerable (MuSiQue-Full) is refused: its answer is not right.
    """
    reader = GoldReader(at)
    if record.get("answerable") is False:
        reader.refuse("unanswerable", "is marked as unanswerable", "take MuSiQue-Ans")
    passages: list[Passage] = []
    support: dict[str, None] = {}
    for paragraph in reader.entries(record.get("paragraphs"), "paragraphs"):
        match paragraph:
            case {"title": str(title), "paragraph_text": str(text), **more}:
                passages.append(passage := make_passage(title, text))
                if more.get("is_supporting"):
                    support[passage.id] = None
            case _:
                problem = '"paragraphs" is not a list of {"title": ..., "paragraph_text": ...}'
                reader.refuse("form", problem)
                break
    answer, aliases = record.get("answer"), record.get("answer_aliases") or []
    forms = [answer, *aliases] if isinstance(aliases, list) else [answer, aliases]
    gold = reader.one_of(forms, "answer") if answer is not None else None
    return reader.made(
        id=reader.id(record.get("id")),
        question=reader.question_text(record.get("question")),
        branches=reader.only(gold and replace(gold, support=tuple(support))),
        passages=tuple(passages),
        meta={"benchmark": "musique"},
    )


def qampari_question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry of QAMPARI: many answers.

    Format: the published lines (`qid`, `question_text`, `answer_list` of `answer_text` and
    `aliases`, which repeat the text; samsam3232.github.io/qampari), or the array that ALCE made of
    them (`id`, `question`, `answers`, each a list of forms; github.com/princeton-nlp/ALCE).
    """
    reader = GoldReader(at)
    name = "question_text" if "question_text" in record else "question"
    qid = record.get("qid")
    id = reader.id(record.get("id") if qid is None else qid)
    question = reader.question_text(record.get(name), f'"{name}"')
    listed = next((key for key in ("answer_list", "answers") if record.get(key) is not None), None)
    answers: list[Any] = []
    for answer in reader.entries(record[listed], listed) if listed else ():
        if isinstance(answer, dict) and isinstance(answer.get("aliases", []), list):
            answers.append([answer.get("answer_text"), *answer.get("aliases", [])])
        else:
            answers.append(answer)
    return reader.made(
        id=id,
        question=question,
        branches=reader.branches(answers) if listed else (),
        meta={"benchmark": "qampari"},
    )


def flashrag_question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of a line of FlashRAG's data sets.

    Format: JSONL with `id`, `question`, `golden_answers` and sometimes `metadata`
    (github.com/RUC-NLPIR/FlashRAG). Golden answers are forms of one, as for FlashRAG's metrics.
    """
    reader = GoldReader(at)
    golden = record.get("golden_answers")
    if isinstance(golden, str | list):
        golden = members(golden)
    return reader.made(
        id=reader.id(record.get("id")),
        question=reader.question_text(record.get("question")),
        branches=reader.only(reader.one_of(golden, "golden_answers")),
    )
