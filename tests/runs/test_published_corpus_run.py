"""Published questions on published passages that are not theirs: searched, answered, scored."""

from pathlib import Path

import pytest

from branchwise import System, run, score
from branchwise.corpora.build import build_corpus, build_index
from branchwise.eval.errors.labels import Label
from branchwise.runs.scoring.score import score_answers
from support.needs import DATA, needs_data

QUESTIONS = 200


@pytest.mark.long
@needs_data
@pytest.mark.slow
def test_questions_of_ambignq_are_asked_of_the_passages_of_2wiki(tmp_path: Path) -> None:
    build_corpus(f"hipporag:{DATA / '2wiki' / 'corpus.json'}", tmp_path / "C")
    build_index(tmp_path / "C", "bm25")
    made = run(
        f"ambignq:{DATA / 'ambignq' / 'train_light.json'}",
        System(corpus=str(tmp_path / "C")),
        out=tmp_path / "R",
        limit=QUESTIONS,
    )
    assert (made.state.done, made.state.failed) == (QUESTIONS, 0)
    assert score(made).counts.items == QUESTIONS
    analysis = score_answers(made.path).analysis
    assert analysis is not None
    lost = analysis.errors.subsets["all"]
    # Another set's passages state next to nothing of what is asked, whatever they mention.
    assert lost.lost_at["agent"] <= 2
    assert lost.labels[Label.PERHAPS_STATED].missing >= 10
    assert analysis.absent == pytest.approx(0.7, abs=0.05)
