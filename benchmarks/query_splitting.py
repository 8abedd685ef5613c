"""Whether a query finds more if its names and the rest of its words are searched for as well.

The parts of a query are what `corpora/names_in_text.py` takes for names, and the other words but
the common ones. What the parts find is fused with what the query finds, by reciprocal rank, and the
same number of passages is kept: so nothing but their choice differs. Each way is measured alone and
with at most two passages of a name before others (`--per-name 2`). Support is the share of the
passages stating gold answers that were retrieved.

With --recorded, the queries of a recorded run of a language model are split too; of each query's
result the first passages count that its question has not been shown (`--repeat-passages` off).

    python benchmarks/query_splitting.py [--questions 60] [--recorded] [--work DIR]
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from manners.asking import Turns
from manners.measuring import KINDS, mean
from manners.replaying import recorded
from manners.worlds import RETRIEVER, questions, world
from search_manners import (
    DEPTHS,
    QUESTIONS_SEED,
    RECORDED_SEED,
    WORLD_SEED,
    recorded_run,
    share,
    table,
)

from branchwise.base.text import one_line
from branchwise.corpora.loaders import load_questions
from branchwise.corpora.names_in_text import COMMON, WORD, names_in
from branchwise.corpora.open import open_retriever
from branchwise.corpora.questions import Question
from branchwise.corpora.retrieval import MAX_K, Hit, Scored, fused
from branchwise.eval.items import support_recall
from branchwise.tools.result_text import spread

Search = Callable[[str], Sequence[Hit]]
Split = Callable[[str, Sequence[str], str], Sequence[str]]
"""The queries to search for: of a query, its names, and the rest of its words."""
SPLITS: Mapping[str, Split] = {
    "as it stands": lambda query, names, rest: [query],
    "query, names, rest": lambda query, names, rest: [query, *names, rest],
    "query four times, names, rest": lambda query, names, rest: [*[query] * 4, *names, rest],
    "query, names": lambda query, names, rest: [query, *names],
    "query, rest": lambda query, names, rest: [query, rest],
    "names, rest": lambda query, names, rest: [*names, rest],
    "query, each name with the rest": lambda query, names, rest: (
        [query, *(f"{name} {rest}" for name in names)] if len(names) > 1 else [query]
    ),
}
A_NAME = (None, 2)
"""Passages of one name before others."""
A_CALL = (3, 5)
"""Passages of each recorded query."""


def whole(corpus: Path) -> Search:
    """A search of the corpus for a query as it stands; what it has found it knows."""
    retriever = open_retriever(corpus, RETRIEVER)
    return cache(lambda query: retriever.search([query], MAX_K)[0])


def searching(search: Search, split: Split, per_name: int | None) -> Search:
    """A search by the parts of a query."""

    def search_parts(query: str) -> Sequence[Hit]:
        ranking = fusion([search(part) for part in parts(query, names_in(query), split)])
        return spread(ranking, per_name) if per_name else ranking

    return search_parts


def parts(query: str, names: Sequence[str], split: Split) -> Sequence[str]:
    """What is searched for; the query alone, where it is all name or has none."""
    text = query
    for name in names:
        text = text.replace(name, " ")
    rest = " ".join(word for word in WORD.findall(text) if word.lower() not in COMMON)
    return split(query, names, rest) if names and rest else [query]


def fusion(rankings: Sequence[Sequence[Hit]]) -> list[Hit]:
    """One ranking of several, by reciprocal rank."""
    hits = {hit.passage.id: hit for ranking in rankings for hit in ranking}
    ids = list(hits)
    row = {id: n for n, id in enumerate(ids)}
    scored = [[Scored(row[hit.passage.id], hit.score) for hit in ranking] for ranking in rankings]
    return [hits[ids[one.row]] for one in fused(scored, MAX_K, ids.__getitem__)]


def found(search: Search, asked: Sequence[Question], depth: int) -> float | None:
    """The mean support of the first passages, where each question is searched for as it stands."""
    shown = [[hit.passage.id for hit in search(question.question)] for question in asked]
    pairs = zip(asked, shown, strict=True)
    return mean([support_recall(question.support, ids, depth) for question, ids in pairs])


def found_again(
    search: Search, turns: Mapping[str, Turns], asked: Sequence[Question], k: int
) -> float | None:
    """The mean support of what the recorded queries bring, `k` new passages each."""
    shown = [new_ones(search, turns[one_line(question.question)], k) for question in asked]
    pairs = zip(asked, shown, strict=True)
    return mean([support_recall(question.support, ids, None) for question, ids in pairs])


def new_ones(search: Search, turns: Turns, k: int) -> list[str]:
    """The passages that queries bring in their order, each once, at most `k` a query."""
    shown: list[str] = []
    for query in (one.query for turn in turns for one in turn):
        shown += [hit.passage.id for hit in search(query) if hit.passage.id not in shown][:k]
    return shown


def rows(search: Search, asked: Sequence[Question]) -> Iterator[list[str]]:
    """Of each way the support by kind of question: at 5, 10 and 20 passages."""
    kinds = [[question for question in asked if is_of(question)] for is_of in KINDS.values()]
    yield [f"{kind} ({len(own)})" for kind, own in zip(KINDS, kinds, strict=True)]
    for name, split, per_name in ways():
        by_parts = searching(search, split, per_name)
        of_kinds = [[share(found(by_parts, own, k)) for k in DEPTHS] for own in kinds]
        yield [name, *(" ".join(of_depths) for of_depths in of_kinds)]


def ways() -> Iterator[tuple[str, Split, int | None]]:
    """Name, split and passages of one name of each way to search."""
    for per_name in A_NAME:
        for name, split in SPLITS.items():
            yield f"{name}; {per_name} a name" if per_name else name, split, per_name


def measure(options: argparse.Namespace, work: Path) -> None:
    """Print the tables."""
    corpus = world(work, WORLD_SEED)
    asked = load_questions(str(questions(corpus, options.questions, QUESTIONS_SEED))).questions
    head, *lines = rows(whole(corpus), asked)
    print(table(("one search of the question, support @5 @10 @20", *head), lines))
    if options.recorded:
        turns, _ = recorded(options.recorded)
        search = whole(world(work, RECORDED_SEED))
        file = options.recorded.parent / "questions.jsonl"
        again = load_questions(str(file)).questions
        print(
            table(
                ("recorded queries", *(f"{k} new passages each" for k in A_CALL)),
                [
                    [name, *(share(found_again(by_parts, turns, again, k)) for k in A_CALL)]
                    for name, split, per_name in ways()
                    for by_parts in [searching(search, split, per_name)]
                ],
            )
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--recorded", action="store_true", help="split recorded queries too")
    parser.add_argument("--work", type=Path, help="folder that keeps worlds, indexes and questions")
    options = parser.parse_args()
    options.recorded = recorded_run() if options.recorded else None
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        measure(options, work)


if __name__ == "__main__":
    main()
