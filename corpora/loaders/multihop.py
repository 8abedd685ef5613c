"""HotpotQA and 2WikiMultihopQA: questions over several of the paragraphs that come with them.

Format: the published JSON arrays (hotpotqa.github.io; github.com/Alab-NII/2wikimultihop). `context`
is a list of titles and sentences, which become passages; `supporting_facts` names sentences by
title and number, and their paragraphs become the answer's support. Derived files, which have only
`question` and `answer`, are read too; a list as `answer` holds forms of the one answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from branchwise.corpora.loaders.answers import GoldReader
from branchwise.corpora.loaders.reading import RowPlace
from branchwise.corpora.passages import Passage, make_passage
from branchwise.corpora.questions import Question


def question(record: Mapping[str, Any], at: RowPlace) -> Question | None:
    """The question of an entry; None if something in it was refused."""
    reader = GoldReader(at)
    id, answer = record.get("_id"), record.get("answer")
    passages = _passages(record.get("context"), reader)
    support = _support(record.get("supporting_facts"), passages, reader)
    qid = reader.optional_text(record.get("answer_id"), '"answer_id"')
    gold = reader.one_of(answer, "answer") if answer not in (None, "") else None
    gold = gold and replace(gold, support=support, qid=qid)
    return reader.made(
        id=reader.id(record.get("id") if id is None else id),
        question=reader.question_text(record.get("question")),
        branches=reader.only(gold),
        passages=passages,
        meta={"benchmark": at.loading.source.form.name},
    )


def _passages(context: Any, reader: GoldReader) -> tuple[Passage, ...]:
    """A passage for each paragraph: its title, its sentences joined."""
    found = []
    for paragraph in reader.entries(context, "context"):
        match paragraph:
            case [str(title), [*sentences]] if all(isinstance(one, str) for one in sentences):
                found.append(make_passage(title, joined(sentences)))
            case _:
                reader.refuse("form", '"context" is not a list of [title, [sentence, ...]]')
                break
    return tuple(found)


def joined(sentences: Sequence[str]) -> str:
    """A paragraph of its sentences, which HotpotQA lets begin with a space, 2WikiMultihopQA not."""
    spaced = (one if one[:1].isspace() else f" {one}" for one in sentences)
    return "".join(spaced).strip()


def _support(facts: Any, passages: Sequence[Passage], reader: GoldReader) -> tuple[str, ...]:
    titles = set()
    for fact in reader.entries(facts, "supporting_facts"):
        match fact:
            case [str(title), int()]:
                titles.add(title)
            case _:
                reader.refuse("form", '"supporting_facts" is not a list of [title, sentence]')
                break
    return tuple(passage.id for passage in passages if passage.title in titles)
