"""Making a world: one pass over its entities, streamed to disk."""

import gzip
import hashlib
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, cast

import orjson

from branchwise.base.atomic import new_folder, remove_abandoned
from branchwise.base.errors import InputError
from branchwise.base.progress import Progress, silent
from branchwise.corpora.folder import CORPUS_FILE
from branchwise.corpora.passages import passage_id
from branchwise.kg.world_folder import (
    FORMAT,
    KG_FILE,
    MAX_ENTITIES,
    NAMES_FILE,
    WORLD_FILE,
    FileDescription,
    Sizes,
    WorldDescription,
    check_files,
    read_description,
)
from branchwise.worlds.domains import DOMAINS, world_schema
from branchwise.worlds.draws import stream_key
from branchwise.worlds.facts import Fact, FactValue
from branchwise.worlds.sharing import MAX_AMBIGUITY
from branchwise.worlds.telling.article import Articles
from branchwise.worlds.telling.mentions import EntityMentions, stream
from branchwise.worlds.telling.prose import type_prose
from branchwise.worlds.triples import (
    ENTITY,
    statement_object,
    statements,
    terms,
    vocabulary,
)
from branchwise.worlds.world import World

DEFAULT_AMBIGUITY = 0.1
MAX_SEED = 2**63 - 1
_AT_ONCE = 500  # entities between two writes
_COMPRESSION = 6


def make_world(
    out: Path,
    entities: int,
    seed: int,
    ambiguity: float = DEFAULT_AMBIGUITY,
    domains: Sequence[str] = DOMAINS,
    progress: Progress = silent,
) -> WorldDescription:
    """Make the world folder `out`: graph, corpus, shared names and description.

    The same arguments give the same bytes: a folder that holds them stays as it is. Memory is some
    250 bytes an entity. Raises InputError for arguments out of range, if `out` contains anything
    else, and if it cannot be written; nothing is left then.
    """
    _check(entities, seed, ambiguity, domains)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        return _made_before(out, (entities, seed, ambiguity, set(domains)))
    world = World(entities, seed, ambiguity, domains)
    with new_folder(out) as folder, ExitStack() as open_files:
        kg, corpus, names = (
            open_files.enter_context(_File(folder / name))
            for name in (KG_FILE, CORPUS_FILE, NAMES_FILE)
        )
        sizes = _Writer(world, seed, kg, corpus, names).write(progress)
        open_files.close()  # the files get their names: from here on they are complete
        description = WorldDescription(
            version=version("branchwise"),
            entities=entities,
            seed=seed,
            ambiguity=ambiguity,
            domains=tuple(name for name in DOMAINS if name in domains),
            schema_sha256=hashlib.sha256(
                world_schema(domains).model_dump_json().encode()
            ).hexdigest(),
            sizes=sizes,
            files={file.name: file.description() for file in (kg, corpus, names)},
        )
        (folder / WORLD_FILE).write_bytes(
            orjson.dumps(description.model_dump(), option=orjson.OPT_INDENT_2) + b"\n"
        )
    return description


def _made_before(out: Path, asked: tuple[int, int, float, set[str]]) -> WorldDescription:
    """The existing world, if it is the requested one and complete.

    Raises InputError if it is not.
    """
    what = "already exists"
    with suppress(InputError):
        made = read_description(out)
        if asked == (made.entities, made.seed, made.ambiguity, set(made.domains)):
            if (made.format, made.version) == (FORMAT, version("branchwise")):
                check_files(out, made)
                remove_abandoned(out)
                return made
            what = "holds this world as an earlier version made it, with other texts"
    raise InputError(what, where=str(out), remedy="choose another --out")


def _check(entities: int, seed: int, ambiguity: float, domains: Sequence[str]) -> None:
    if not 1 <= entities <= MAX_ENTITIES:
        raise InputError(
            f"a world cannot have {entities:,} entities", remedy=f"ask for 1 to {MAX_ENTITIES:,}"
        )
    if not 0 <= seed <= MAX_SEED:
        raise InputError(f"the seed {seed} is out of range", remedy=f"give 0 to {MAX_SEED}")
    if not 0 <= ambiguity <= MAX_AMBIGUITY:
        raise InputError(
            f"the ambiguity {ambiguity:g} is out of range",
            remedy=f"give the share of names that are shared, 0 to {MAX_AMBIGUITY:g}",
        )
    if not domains:
        raise InputError("no domain is given", remedy=f"choose among {', '.join(DOMAINS)}")
    world_schema(domains)


class _File:
    """A file that gets its name only when it is complete; counts and digests what is written.

    Bytes and digest are of the contents before compression: other builds of zlib may compress
    the same contents to other bytes.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path
        self._unfinished = path.with_name(f"{path.name}.unfinished")
        self._bytes = 0
        self._digest = hashlib.sha256()

    def __enter__(self) -> "_File":
        self._raw = self._unfinished.open("wb")
        self._stream: IO[bytes] = self._raw
        if self._path.suffix == ".gz":
            zipped = gzip.GzipFile("", "wb", _COMPRESSION, self._raw, mtime=0)
            self._stream = cast(IO[bytes], zipped)
        return self

    def write(self, data: bytes) -> None:
        self._bytes += len(data)
        self._digest.update(data)
        self._stream.write(data)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is not None:
            self._raw.close()
            return
        if self._stream is not self._raw:
            self._stream.close()
        self._raw.close()
        self._unfinished.rename(self._path)

    def description(self) -> FileDescription:
        return FileDescription(bytes=self._bytes, sha256=self._digest.hexdigest())


class _Writer:
    def __init__(self, world: World, seed: int, kg: _File, corpus: _File, names: _File) -> None:
        self._world = world
        self._kg, self._corpus, self._names = kg, corpus, names
        types = world.population.types
        prose = [
            type_prose(world.schema, kind, [fact.name for fact in facts])
            for kind, facts in zip(types, world.facts, strict=True)
        ]
        random = stream(stream_key(seed, "prose"))
        self._mentions = EntityMentions(world, prose)
        self._articles = [
            Articles(world, self._mentions, prose[n], n, random) for n in range(len(types))
        ]
        self._passages = self._words = self._triples = self._statements = 0

    def write(self, progress: Progress) -> Sizes:
        self._write_kg("".join(vocabulary(self._world.schema)))
        total = len(self._world)
        for start in range(0, total, _AT_ONCE):
            places = range(start, min(start + _AT_ONCE, total))
            written = [self._entity(self._world.in_order(place)) for place in places]
            self._write_kg("".join(triples for triples, _ in written))
            self._corpus.write(b"".join(passages for _, passages in written))
            progress(places.stop, total)
        for group in range(len(self._world.population.groups)):
            self._names.write(self._shared_name(group))
        return self._sizes()

    def _write_kg(self, lines: str) -> None:
        self._triples += lines.count("\n")
        self._kg.write(lines.encode())

    def _entity(self, entity: int) -> tuple[str, bytes]:
        """The entity's triples and passages."""
        world = self._world
        number = world.type_number(entity)
        qid = world.qid(entity)
        known = [fact.values(entity) for fact in world.facts[number]]
        alias = world.alias(entity)
        description = self._mentions.description(entity)
        lines = [terms(ENTITY + qid, world.label(entity), [alias] if alias else [], description)]
        for fact, values in zip(world.facts[number], known, strict=True):
            if not fact.inverse:
                self._statements += len(values)
                lines += statements(world, qid, fact, values)
        title = self._mentions.title(entity)
        tellings = self._articles[number].write(entity, known)
        return "".join(lines), b"".join(
            self._passage(qid, title, text, told) for text, told in tellings
        )

    def _passage(
        self, qid: str, title: str, text: str, told: list[tuple[Fact, FactValue]]
    ) -> bytes:
        self._passages += 1
        self._words += text.count(" ") + 1
        record: dict[str, Any] = {
            "id": passage_id(title, text),
            "contents": f"{title}\n{text}",
            "entity": qid,
            "statements": [self._statement(qid, fact, value) for fact, value in told],
        }
        return orjson.dumps(record) + b"\n"

    def _statement(self, qid: str, fact: Fact, value: FactValue) -> tuple[str, str, str]:
        other = statement_object(self._world, fact, value)
        subject, object = (other, qid) if fact.inverse else (qid, other)
        return subject, fact.relation.property, object

    def _shared_name(self, group: int) -> bytes:
        """A line of names.jsonl: a name and its bearers, in the order of their titles."""
        groups = self._world.population.groups
        members = groups.members[groups.starts[group] : groups.starts[group + 1]].tolist()
        entities = [
            {
                "id": self._world.qid(entity),
                "title": self._mentions.title(entity),
                "description": self._mentions.description(entity),
            }
            for entity in members
        ]
        entities.sort(key=lambda entry: entry["title"])
        return orjson.dumps({"name": self._world.label(members[0]), "entities": entities}) + b"\n"

    def _sizes(self) -> Sizes:
        population = self._world.population
        ends = zip(population.types, population.starts, population.starts[1:], strict=False)
        return Sizes(
            entities={kind: end - first for kind, first, end in ends},
            passages=self._passages,
            words=self._words,
            statements=self._statements,
            triples=self._triples,
            shared_names=len(population.groups),
            entities_with_shared_names=len(population.groups.members),
        )
