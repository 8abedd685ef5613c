"""Whether `names.jsonl` is exactly what a world's labels say."""

import re
from collections import Counter
from collections.abc import Iterator

from support.worlds.telling import told_apart
from support.worlds.world_reader import World

SMALLEST, LARGEST = 2, 14  # bearers of one shared name


def misnamed(world: World) -> Iterator[str]:
    """One line for each name that is shared and not listed so, or listed and not shared so."""
    shared = {name: set(ids) for name, ids in world.bearers.items() if len(ids) > 1}
    listed = {name: set(titles) for name, titles in world.titles.items()}
    for name in sorted(shared.keys() | listed.keys()):
        if shared.get(name) != listed.get(name):
            yield f"{name!r}: labels {shared.get(name)}, names.jsonl {listed.get(name)}"
        if not SMALLEST <= len(listed.get(name, ())) <= LARGEST:
            yield f"{name!r} is listed with {len(listed.get(name, ()))} bearers"


def unclear_titles(world: World) -> Iterator[str]:
    """Titles that two entities have, that do not add to the name, that say something else than the
    description, or that no passage has."""
    counts = Counter(world.title(entity) for entity in world.entities)
    yield from (f"{n} entities have the title {t!r}" for t, n in counts.items() if n > 1)
    used = {p.entity: p.title for p in world.passages if not world.is_retelling(p)}
    for name, titles in world.titles.items():
        for entity, title in titles.items():
            told_by = re.fullmatch(rf"{re.escape(name)} \((.+)\)", title)
            if not told_by or told_by[1] not in world.kg.descriptions[entity][0]:
                yield f"{entity} is titled {title!r}"
            if used.get(entity) != (name if name in world.bare else title):
                yield f"{entity} is {title!r} in names.jsonl and {used.get(entity)!r} in the corpus"


def unclear_mentions(world: World) -> Iterator[str]:
    """Shared names in others' articles that do not stand there as a bearer's title."""
    for passage in world.passages:
        own = world.kg.label(passage.entity)
        for sentence in passage.sentences:
            for mention in sentence.mentions:
                bearers = world.bearers.get(mention.name, [])
                word = mention.start == 0 and " " not in mention.name  # "Camera nerves ..."
                if len(bearers) < SMALLEST or mention.name in {own, *world.bare} or word:
                    continue
                if not any(told_apart(world, sentence, mention, one) for one in bearers):
                    yield f"which {mention.name}? {sentence.text}"


def unclear_aliases(world: World) -> Iterator[str]:
    """Aliases that are another's label or alias."""
    for name, entities in world.known_as.items():
        if len(entities) > 1 and name not in world.titles:
            yield f"{name!r} means {sorted(entities)}"
