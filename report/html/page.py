"""A study report as one HTML file."""

import hashlib
import importlib.resources
from base64 import b64encode
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from branchwise.base.atomic import write_named
from branchwise.report.figures.files import absent_figures
from branchwise.report.html.figures import figures
from branchwise.report.html.question_data import questions_json
from branchwise.report.html.summary import (
    base_words,
    findings,
    main_effects,
    shared_cautions,
    still_wrong,
    warnings,
)
from branchwise.report.html.tables import MAX_NAME, laid_out, short, shown
from branchwise.report.published import are_generated
from branchwise.report.study_report import StudyReport
from branchwise.report.table import Table
from branchwise.report.tables import report_tables
from branchwise.report.tables.results import scored_by
from branchwise.runs.studies.names import slugs

if TYPE_CHECKING:
    from jinja2 import Environment


_NAMES = {True: "ambiguous", False: "unambiguous"}
_FOLDER = importlib.resources.files(__package__)
_STYLES = ("colours", "page", "tables", "figures", "questions", "print")
_SCRIPTS = ("theme", "elements", "answers", "filters", "browser")


def write_html(report: StudyReport, path: Path) -> None:
    """Write the page to a file, replaced as a whole. Raises InputError where it cannot be."""
    write_named(path, render_html(report).encode())


def render_html(report: StudyReport) -> str:
    """The page: it loads nothing from outside, and its policy forbids it to. Text of the report
    is escaped, what could steer the reader visible; its size is linear in the answers."""
    data = questions_json(report)
    return _rendered(
        "report.html.j2",
        _SCRIPTS,
        title=short(report.title, 200),
        data=Markup(data),  # noqa: S704 (escaped for a script element)
        prefix="",
        **_sections(report),
    )


def render_reports(
    reports: Sequence[StudyReport], title: str, together: Sequence[Table] = ()
) -> str:
    """A page of several reports without their questions, each with what it has nothing for; first
    the tables of all `together`."""
    articles = []
    for report, id in zip(reports, slugs([report.title for report in reports]), strict=True):
        own = _sections(report)
        body = environment().get_template("sections.html.j2").render(prefix=f"{id}-", **own)
        articles.append(
            {
                "id": id,
                "name": short(report.title, 200),
                "facts": own["facts"],
                "body": Markup(body),  # noqa: S704 (rendered with escapes)
                "absent": list(absent_figures(report)),
            }
        )
    return _rendered(
        "reports.html.j2",
        _SCRIPTS[:1],
        title=short(title, 200),
        reports=articles,
        together=[laid_out(table, ()) for table in together],
        version=reports[0].version,
    )


def _rendered(template: str, scripts: tuple[str, ...], **values: Any) -> str:
    """Under a policy by which the page's own style and script run, and no others."""
    style, script = _joined("styles", _STYLES, "css"), _joined("scripts", scripts, "js")
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    values["style"] = Markup(style)  # noqa: S704 (a file of this package)
    values["script"] = Markup(script)  # noqa: S704 (a file of this package)
    return environment().get_template(template).render(policy=policy, **values)


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _joined(folder: str, names: tuple[str, ...], ending: str) -> str:
    files = [_FOLDER / folder / f"{name}.{ending}" for name in names]
    return "\n".join(file.read_text(encoding="utf-8").strip() for file in files)


@cache
def environment() -> "Environment":
    """Of all templates: everything is escaped, and what is undefined is an error."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    def load(name: str) -> str:
        return (_FOLDER / "templates" / name).read_text(encoding="utf-8")

    def visible(value: Any) -> Any:
        """Text from outside without what could steer the reader."""
        return shown(value) if type(value) is str else value

    return Environment(
        loader=FunctionLoader(load),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _sections(report: StudyReport) -> dict[str, Any]:
    bases = []
    for base in report.bases:
        inert = [short(part.words) for part in base.run.inert.values()]
        bases.append((short(base.name, MAX_NAME), base_words(report, base), inert))
    made = findings(report)
    shared = shared_cautions(made, [inert for *_, inert in bases])
    tables = defaultdict(list)
    for table in report_tables(report):
        tables[table.section].append(laid_out(table, [base.name for base in report.bases]))
    return {
        "facts": _facts(report),
        "base": short(report.base_words, MAX_NAME),
        "bases": bases,
        "main": report.task.main.name,
        "filled": report.task.questions_words("ambiguous") if len(report.subsets) > 1 else "",
        "of_entities": report.task.is_attributable,
        "kinds": {name: report.called(name) for name in _NAMES.values()},
        "effects": main_effects(report),
        "findings": made,
        "shared": shared,
        "alike": report.alike_notes,
        "still_wrong": still_wrong(report),
        "warnings": warnings(report),
        "tables": tables,
        "figures": figures(report),
        "matcher": _matchers(report),
        "has_answers": any(question.answers for question in report.questions),
        "version": report.version,
    }


def _matchers(report: StudyReport) -> str:
    words = (short(scored_by(system.scores.scorer)) for system in report.systems)
    return "; ".join(dict.fromkeys(words))


def _facts(report: StudyReport) -> list[tuple[str, str]]:
    questions = f"{len(report.questions):,}"
    counts = {
        name: sum(question.ambiguous is value for question in report.questions)
        for value, name in _NAMES.items()
    }
    if all(counts.values()):
        words = (f"{count:,} {report.called(name)}" for name, count in counts.items())
        questions += f" ({', '.join(words)})"
    if several := sum(bool(question.alternatives) for question in report.questions):
        questions += f", {several:,} with alternative gold answers"
    facts = [("questions", questions), ("from", short(report.source_names, 200))]
    if report.benchmark:
        form = "generated in the form of " if are_generated(report.questions) else ""
        facts.append(("benchmark", f"{form}{short(report.benchmark, 100)}"))
    matched = "branches matched by" if report.task.is_attributable else "scored by"
    return [*facts, ("systems", f"{len(report.systems):,}"), (matched, _matchers(report))]
