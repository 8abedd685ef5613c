"""Making a world's folder: corpus, graph, shared names, and the facts and support of questions."""

import gc
import gzip
import hashlib
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from importlib.metadata import version
from pathlib import Path
from random import Random
from typing import IO, Any, cast

import orjson

from branchwise.base.atomic import new_folder, remove_abandoned
from branchwise.base.errors import InputError
from branchwise.base.process import Progress, silent
from branchwise.corpora.folder import CORPUS_FILE
from branchwise.corpora.passages import passage_id
from branchwise.kg.dials import EASY, Dials
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
from branchwise.worlds.facts import HUB_LINKS
from branchwise.worlds.population import MAX_AMBIGUITY
from branchwise.worlds.questions.facts import fact_properties
from branchwise.worlds.questions.statements import FACTS_FOLDER, Statements
from branchwise.worlds.questions.support import SUPPORT_FOLDER, Support, SupportWriter
from branchwise.worlds.telling.article import Articles, Telling
from branchwise.worlds.telling.mentions import EntityMentions
from branchwise.worlds.telling.prose import type_prose
from branchwise.worlds.telling.sentences import Sentences
from branchwise.worlds.telling.strays import StrayClauses, ToldValue
from branchwise.worlds.triples import GatheredStatements, KgWriter, statement_object
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
    dials: Dials = EASY,
    progress: Progress = silent,
) -> WorldDescription:
    """Make the world folder `out`: graph, corpus, shared names and description.

    The same arguments give the same bytes: a folder that holds them stays as it is. Memory: some
    700 bytes an entity. Raises InputError for arguments out of range, and if `out` contains
    anything else or cannot be written; nothing is left then.
    """
    _check(entities, seed, ambiguity, domains, dials)
    schema = world_schema(domains)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        return _made_before(out, (entities, seed, ambiguity, set(domains), dials))
    world = World(entities, seed, ambiguity, domains, dials)
    _check_shared_names(world, dials)
    with new_folder(out) as folder, ExitStack() as open_files:
        kg, corpus, names = (
            open_files.enter_context(_File(folder / name))
            for name in (KG_FILE, CORPUS_FILE, NAMES_FILE)
        )
        writer = _Writer(world, seed, kg, corpus, names)
        sizes = writer.write(progress)
        open_files.close()  # the files get their names: from here on they are complete
        statements, support = writer.gathered
        del world, writer
        gc.collect()  # sorting what was gathered takes as much memory as the world did
        used = fact_properties(schema)
        Statements.load(folder / KG_FILE, used, folder / FACTS_FOLDER, statements.arrays)
        del statements
        Support.load(folder / CORPUS_FILE, folder / SUPPORT_FOLDER, support.arrays)
        description = WorldDescription(
            version=version("branchwise"),
            entities=entities,
            seed=seed,
            ambiguity=ambiguity,
            domains=tuple(name for name in DOMAINS if name in domains),
            dials=dials,
            schema_sha256=hashlib.sha256(schema.model_dump_json().encode()).hexdigest(),
            sizes=sizes,
            files={file.name: file.description() for file in (kg, corpus, names)},
        )
        data = orjson.dumps(description.model_dump(), option=orjson.OPT_INDENT_2)
        (folder / WORLD_FILE).write_bytes(data + b"\n")
    return description


def _made_before(out: Path, asked: tuple[int, int, float, set[str], Dials]) -> WorldDescription:
    problem = "already exists"
    with suppress(InputError):
        made = read_description(out)
        of = (made.entities, made.seed, made.ambiguity, set(made.domains), made.dials)
        if asked == of:
            if (made.format, made.version) == (FORMAT, version("branchwise")):
                check_files(out, made)
                remove_abandoned(out)
                return made
            problem = "holds this world as an earlier version made it, with other texts"
    raise InputError(problem, where=str(out), remedy="choose another --out")


def _check(
    entities: int, seed: int, ambiguity: float, domains: Sequence[str], dials: Dials
) -> None:
    if not 1 <= entities <= MAX_ENTITIES:
        remedy = f"ask for 1 to {MAX_ENTITIES:,}"
        raise InputError(f"a world cannot have {entities:,} entities", remedy=remedy)
    if not 0 <= seed <= MAX_SEED:
        raise InputError(f"the seed {seed} is out of range", remedy=f"give 0 to {MAX_SEED}")
    if not 0 <= ambiguity <= MAX_AMBIGUITY:
        remedy = f"give the share of names that are shared, 0 to {MAX_AMBIGUITY:g}"
        raise InputError(f"the ambiguity {ambiguity:g} is out of range", remedy=remedy)
    if not domains:
        raise InputError("no domain is given", remedy=f"choose among {', '.join(DOMAINS)}")
    if dials.hubs and entities < HUB_LINKS:
        problem = f"hubs have some {HUB_LINKS} links each, and the world {entities} entities"
        raise InputError(problem, remedy=f"make {HUB_LINKS} or more, or give hubs=0")


def _check_shared_names(world: World, dials: Dials) -> None:
    for dial in ("bare_titles", "namesakes"):
        if getattr(dials, dial) and not len(world.population.groups):
            remedy = f"give a larger ambiguity, more entities, or {dial}=0"
            raise InputError(f"{dial} needs shared names, and there are none", remedy=remedy)


class _File:
    """A file that is named when it is complete. Counts are of contents before compression."""

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
        prose = [
            type_prose(world.schema, kind, [fact.name for fact in facts])
            for kind, facts in zip(world.population.types, world.facts, strict=True)
        ]
        # A Mersenne Twister: Python guarantees its sequence.
        random = Random(stream_key(seed, "prose")).random
        self._mentions = EntityMentions(world, prose)
        sentences = [
            Sentences(world, self._mentions, number, random) for number in range(len(prose))
        ]
        strays = None
        if world.strays:
            strays = StrayClauses(world, world.strays, self._mentions, sentences, random)
        self._articles = [
            Articles(of_type, facts, strays, world.retold)
            for of_type, facts in zip(sentences, world.facts, strict=True)
        ]
        self._said, self._support = KgWriter(world), SupportWriter()
        self._passages = self._words = self._triples = 0

    def write(self, progress: Progress) -> Sizes:
        self._write_kg("".join(self._said.vocabulary()))
        total = len(self._world)
        for start in range(0, total, _AT_ONCE):
            numbers = range(start, min(start + _AT_ONCE, total))
            written = [self._entity(self._world.in_order(number)) for number in numbers]
            self._write_kg("".join(triples for triples, _ in written))
            self._corpus.write(b"".join(passages for _, passages in written))
            progress(numbers.stop, total)
        population = self._world.population
        for group in range(len(population.groups)):
            self._names.write(self._shared_name(group))
        ends = zip(population.types, population.starts, population.starts[1:], strict=False)
        return Sizes(
            entities={kind: end - first for kind, first, end in ends},
            passages=self._passages,
            words=self._words,
            statements=self._said.statements,
            triples=self._triples,
            shared_names=len(population.groups),
            entities_with_shared_names=len(population.groups.members),
        )

    @property
    def gathered(self) -> tuple[GatheredStatements, SupportWriter]:
        """What questions are made from; it would have to be read from the complete files else."""
        return self._said.gathered, self._support

    def _write_kg(self, lines: str) -> None:
        self._triples += lines.count("\n")
        self._kg.write(lines.encode())

    def _entity(self, entity: int) -> tuple[str, bytes]:
        world = self._world
        number = world.type_number(entity)
        qid = world.qid(entity)
        known = [fact.values(entity) for fact in world.facts[number]]
        lines = self._said.entity(entity, self._mentions.description(entity), known)
        heading = self._mentions.heading(entity)
        passages = (
            self._passage(qid, heading, telling)
            for telling in self._articles[number].write(entity, known)
        )
        return lines, b"".join(passages)

    def _passage(self, qid: str, heading: str, telling: Telling) -> bytes:
        title, text = telling.title or heading, telling.text
        self._passages += 1
        self._words += text.count(" ") + 1
        stated, former = self._claims(telling.stated), self._claims(telling.former)
        record: dict[str, Any] = {
            "id": passage_id(title, text),
            "contents": f"{title}\n{text}",
            "entity": qid,
            "statements": stated,
        }
        if former:
            record["former"] = former
        self._support.add(record["id"], stated, former)
        return orjson.dumps(record) + b"\n"

    def _claims(self, told: Iterable[ToldValue]) -> list[tuple[str, str, str]]:
        claims = []
        for entity, fact, value in told:
            this, other = self._world.qid(entity), statement_object(self._world, fact, value)
            subject, object = (other, this) if fact.inverse else (this, other)
            claims.append((subject, fact.relation.property, object))
        return claims

    def _shared_name(self, group: int) -> bytes:
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
