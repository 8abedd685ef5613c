"""What the list of questions shows."""

from textual.app import App

from branchwise.ui.trace_app.question_list import QuestionList
from support.ui.trace_app.screen_text import screen_lines

AGAIN = "^r reads it again"


def listed(app: App[None]) -> list[str]:
    """The ids of the rows on the screen, from the top."""
    found = app.screen.query_one(QuestionList)
    return [found.run.line(row).id for row in found.rows]


def under_cursor(app: App[None]) -> str | None:
    found = app.screen.query_one(QuestionList)
    return None if found.row is None else found.run.line(found.row).id


def bar(app: App[None]) -> str:
    line = next(line for line in screen_lines(app) if " questions" in line)
    return line.rstrip().removesuffix(AGAIN).strip()
