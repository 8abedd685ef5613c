"""Lost answers in words."""

from dataclasses import replace

from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.eval.errors.item_errors import ItemErrors, MissingAnswer
from branchwise.eval.errors.labels import Label
from branchwise.report.terminal.lost_answers import lost_lines, why_missing


def test_an_answer_that_was_never_retrieved_says_where_else_it_was_mentioned() -> None:
    never = MissingAnswer("default", "Bo Diaz", None, Label.INCOMPLETE_EXTRACTION)
    assert why_missing(never) == "never retrieved"
    places = (EvidencePlace(3, 1, "p1", shown=False), EvidencePlace(4, 2, "p3"))
    elsewhere = MissingAnswer(
        "default", "Bo Diaz", None, Label.INCOMPLETE_EXTRACTION, elsewhere=places, mentioned=2
    )
    said = "never retrieved · mentioned elsewhere: step 4 [p3], and 1 more"
    assert why_missing(elsewhere) == said
    known = replace(elsewhere, in_corpus="p9")
    assert why_missing(known) == (
        "never retrieved · named in the corpus: [p9] · mentioned elsewhere: step 4 [p3], and 1 more"
    )
    absent = replace(elsewhere, label=Label.NOT_IN_CORPUS)
    assert why_missing(absent) == (
        "not in the corpus · mentioned elsewhere: step 4 [p3], and 1 more"
    )
    perhaps = replace(elsewhere, label=Label.PERHAPS_STATED)
    assert why_missing(perhaps) == "mentioned, perhaps not stated · step 4 [p3], and 1 more"


def test_a_failure_is_shown_to_its_end_where_what_to_do_stands() -> None:
    error = f"auth: openai:m@http://h: 401 {'no ' * 200}(name its variable: --key h=VARIABLE)"
    failed = ItemErrors("q1", 0, False, True, error=error)
    assert lost_lines("Who?", failed) == ["q1  Who?", f"  failed: {error}"]
