"""Answers by branch: for each reading of the question, what its passages say."""

from collections.abc import Mapping, Sequence

from branchwise.agents.offline.given import Sought, sought
from branchwise.agents.offline.reading import read_answers
from branchwise.agents.offline.readings import readings
from branchwise.agents.offline.view import Seen, View
from branchwise.agents.offline.words import longest_name, names

_DEFAULT = "default"


def read_branches(view: View) -> dict[str, list[str]]:
    """Answers by reading, those that the question came with under their texts; or by `default`
    where there is only one."""
    if view.readings and (listed := _read(view, sought(view))):
        return listed
    found = readings(view.question, view.passages)
    if len(found) < 2:
        read = _single(view, found)
        return {_DEFAULT: read} if read else {}
    return _read(view, [Sought(t, view.question, own[0].base, own) for t, own in found.items()])


def _read(view: View, all_sought: Sequence[Sought]) -> dict[str, list[str]]:
    answers = {
        one.key: read_answers(one.question, one.name, [*one.passages, *_further(view, one)])
        for one in all_sought
    }
    return {key: read for key, read in answers.items() if read}


def _single(view: View, found: Mapping[str, list[Seen]]) -> list[str]:
    """Answers where there is one reading; a title in brackets shows that others were ruled out."""
    for title, own in found.items():
        if title != own[0].base and (
            read := _read(view, [Sought(title, view.question, own[0].base, own)])
        ):
            return read[title]
    name = next(iter(found.values()))[0].base if found else longest_name(view.question)
    return read_answers(view.question, name, view.passages)


def _further(view: View, one: Sought) -> list[Seen]:
    """Passages about names that a reading's own passages bring up: the second hop."""
    name = one.name.lower()
    brought = {found[0].rstrip(".").lower() for p in one.passages for found in names(p.text)}
    return [
        passage
        for passage in view.passages
        if passage.base.lower() in brought and passage.base.lower() != name
    ]
