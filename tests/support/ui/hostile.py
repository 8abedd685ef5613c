"""A report in which every text that comes from outside attacks the page."""

from dataclasses import replace

from branchwise.eval.errors.gold_evidence import EvidencePlace
from branchwise.eval.errors.item_errors import FailedCall, ItemErrors, MissingAnswer, WrongAnswer
from branchwise.eval.errors.labels import Label
from branchwise.report.study_report import QuestionReport, StudyReport, SystemAnswer
from support.ui.report_cases import BASE, EXPANDED, make_report

ATTACK = (
    "<script>document.title='broken'</script><img src=x onerror=alert(1)>"
    "</script><!--<script>{{ 7 * 7 }}{% raw %} [bold]x[/bold] \x1b[31m\x9b31m "
    "javascript:alert(2) \"'` & \u202egnp.exe\u2066 \u2028 \ud800 \x00"
)
SHOWN = (
    "<script>document.title='broken'</script><img src=x onerror=alert(1)>"
    "</script><!--<script>{{ 7 * 7 }}{% raw %} [bold]x[/bold] ␛[31m␡31m "
    "javascript:alert(2) \"'` & ⟨U+202E⟩gnp.exe⟨U+2066⟩ � ␀"
)
"""The same as a page shows it: nothing is gone but white space."""

HOSTILE_NAMES = (
    "$x$ and \\frac{1}{2}",
    "<script>alert(1)</script>",
    "a | b || c",
    "*bold* _it_ **b** ~~gone~~ `code`",
    "[link](javascript:alert(1)) ![i](http://x/y.png)",
    "www.example.org http://example.org :smile:",
    "&amp; &#60; <!-- --> &lt;",
    "\\input{/etc/passwd} \\\\ % & # ^^M ~ ^",
    "[2em] * -- --- '' `` ,, << >> ?` \"q\"",
    "# heading",
    "日本語 مرحبا é",
)
"""Names with what Markdown, LaTeX and HTML take for commands."""


def hostile_report() -> StudyReport:
    """Names, changes, models, questions, answers, errors: all attack."""
    base = replace(BASE, name=f"a{ATTACK}", model="openai:x<script>y")
    other = replace(EXPANDED, name=f"b{ATTACK}", changes={ATTACK: ATTACK, "__proto__": True})
    report = make_report([base, other], title=ATTACK, meta={"benchmark": ATTACK})
    questions = (_question(base.name), _odd_names(base.name))
    return replace(report, questions=questions, source=ATTACK, version="1<b>\x1b")


def _question(system: str) -> QuestionReport:
    place = (EvidencePlace(2, 1, passage=ATTACK),)
    errors = ItemErrors(
        ATTACK,
        0,
        ambiguous=True,
        traced=True,
        labels=(Label.WRONG_BRANCH,),
        missing=(
            MissingAnswer(
                ATTACK, f"m{ATTACK}", None, Label.INCORRECT_REASONING, "agent", None, place
            ),
            MissingAnswer(ATTACK, f"o{ATTACK}", None, Label.WRONG_BRANCH, None, ATTACK),
        ),
        wrong=(
            WrongAnswer(f"k{ATTACK}", f"w{ATTACK}", None, None, place),
            WrongAnswer(f"u{ATTACK}", f"v{ATTACK}", Label.WRONG_BRANCH, ATTACK),
        ),
        failed_calls=(FailedCall(1, 2, ATTACK, "failed", ATTACK),),
    )  # fmt: skip
    answer = SystemAnswer(
        system,
        0,
        {f"k{ATTACK}": (f"r{ATTACK}", f"w{ATTACK}"), f"u{ATTACK}": (f"v{ATTACK}",)},
        {f"k{ATTACK}": ATTACK, f"u{ATTACK}": None},
        {f"k{ATTACK}": (f"r{ATTACK}",)},
        {"strict_precision": 1 / 3, "strict_recall": 1 / 3, "strict_em": 0.0},
        errors,
        ATTACK,
    )
    gold = {ATTACK: (f"r{ATTACK}", f"m{ATTACK}", f"o{ATTACK}")}
    return QuestionReport(ATTACK, f"q{ATTACK}", True, gold, {}, (answer,))


def _odd_names(system: str) -> QuestionReport:
    """Names that mean something to JavaScript's objects."""
    names = ("__proto__", "constructor", "toString")
    answer = SystemAnswer(
        system, 0, dict.fromkeys(names, ("x",)), dict.fromkeys(names), {}, {"strict_recall": 0.0}
    )  # fmt: skip
    return QuestionReport("hasOwnProperty", "?", False, dict.fromkeys(names, ("x",)), {}, (answer,))
