"""The question sets of a study: each is asked and scored as its own task, in runs of its own."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import PurePath

from branchwise.base.errors import InputError, warn
from branchwise.corpora.loaders.forms import FORMS
from branchwise.corpora.questions import QuestionSet
from branchwise.eval.selection import Selection
from branchwise.runs.studies.names import distinct_names, run_name, slugs
from branchwise.runs.studies.study import MAX_SET_NAME
from branchwise.runs.studies.systems import NamedSystem

_COMMON = ("questions", "data", "dev", "test", "train", "validation")
BETWEEN = "--"
"""In the name of a run's folder, between its set and its system: no system's folder has two."""


@dataclass(frozen=True)
class StudySet:
    """`name`: a part of the names of run folders; `epochs`: how often each question is answered."""

    name: str
    questions: QuestionSet
    epochs: int = 1


@dataclass(frozen=True)
class StudyPart:
    """A run of a study: a system that answers a set. `run`: the system by the run's name, folder
    and base; `words`: what a refusal calls it."""

    set: StudySet
    system: NamedSystem
    run: NamedSystem
    words: str


def parts_of(sets: Sequence[StudySet], systems: Sequence[NamedSystem]) -> tuple[StudyPart, ...]:
    """All runs, set by set."""

    def part(asked: StudySet, system: NamedSystem) -> StudyPart:
        of = asked.name, len(sets), len(systems)

        def name(own: str, between: str = ": ") -> str:
            return run_name(of[0], own, *of[1:], between)

        named = name(system.name), name(system.slug, BETWEEN)
        run = replace(system, name=named[0], slug=named[1], base=name(system.base))
        words = [f"set {asked.name!r}"] if len(sets) > 1 else []
        words += [f"system {system.name!r}"] if len(systems) > 1 or not words else []
        return StudyPart(asked, system, run, ", ".join(words))

    return tuple(part(asked, system) for asked in sets for system in systems)


@contextmanager
def refusals_name(words: str) -> Iterator[None]:
    """Let refusals say which set or system of several they are of; as they are for no words."""
    try:
        yield
    except InputError as error:
        if not words:
            raise
        raise InputError(f"{words}: {error.what}", where=error.where, remedy=error.remedy) from None


def set_names(sources: Sequence[str]) -> list[str]:
    """Short names of sets, each once, from how they are written: a published form's name, or the
    file's, or where many files are called so its folder's; both where another set has that name."""
    short, long = [], []
    for source in sources:
        form, _, rest = source.partition(":")
        is_published = form in FORMS and not FORMS[form].takes_fields and form != ""
        path = PurePath(rest if form in FORMS and rest else source)
        own = path.parent.name if path.stem in _COMMON else path.stem
        short.append(form if is_published else own or path.stem)
        long.append(f"{path.parent.name} {path.stem}")
    names = [name if short.count(name) == 1 else long[n] for n, name in enumerate(short)]
    names = [name if re.search("[A-Za-z0-9]", name) else "set" for name in names]
    cut = (slug[:MAX_SET_NAME].strip("-._") for slug in slugs(names))
    return distinct_names(cut, "{}-{}".format)


def chosen_sets(
    names: Sequence[str], sets: Sequence[QuestionSet], selection: Selection, epochs: int
) -> tuple[StudySet, ...]:
    """What a selection takes of each set. An id may be of any of the sets; a set of which nothing
    is chosen is left out, with a warning. Raises InputError for an id that no set has."""
    ids = None if selection.ids is None else set(selection.ids)
    known = {question.id for asked in sets for question in asked}
    if ids is not None and (missing := ids - known):
        problem = f"no question of the {len(sets)} sets has the id {min(missing)[:80]!r}"
        raise InputError(problem, remedy="check the ids that were asked for")
    chosen = []
    for name, asked in zip(names, sets, strict=True):
        own = None if ids is None else ids & {question.id for question in asked}
        try:
            chosen.append(StudySet(name, replace(selection, ids=own).of(asked), epochs))
        except InputError:  # no id is of this set, or its shard is empty
            warn(f"nothing is chosen of the set {name}: it is left out")
    if not chosen:
        problem = "no questions are left to run"
        raise InputError(problem, remedy="choose other --ids or fewer shards")
    check_different(chosen)
    return tuple(chosen)


def check_different(sets: Iterable[StudySet]) -> None:
    """Raise InputError for the same questions under two names: they would count twice."""
    names: dict[tuple[str, str], str] = {}
    for asked in sets:
        key = asked.questions.digest, asked.questions.task
        if (first := names.setdefault(key, asked.name)) != asked.name:
            problem = f"the sets {first} and {asked.name} hold the same questions"
            raise InputError(problem, remedy="name each set once")
