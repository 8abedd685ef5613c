"""Questions as they are generated from a world or another graph, as the JSON of their file."""

from pathlib import Path

from branchwise.kg.dials import EASY, Dials
from branchwise.kg.schema import Schema, load_domain, merge
from branchwise.worlds.domains import DOMAINS, world_schema
from branchwise.worlds.make import make_world
from branchwise.worlds.questions.ambiguity import read_names
from branchwise.worlds.questions.facts import KgFacts
from branchwise.worlds.questions.generate import generate
from branchwise.worlds.questions.sources import Settings, world_domains
from branchwise.worlds.questions.support import Support
from support import ROOT, TESTS
from support.synthesis.plain_check import Checker

DECLARED = sorted((ROOT / "worlds/domains").glob("*.yaml"))
SLICE = TESTS / "synthesis" / "real_slice"


def from_world(
    folder: Path, entities: int, count: int, seed: int, dials: Dials = EASY
) -> tuple[list[dict], Checker]:
    """Questions over all domains of a new world, half of them ambiguous, and their checker."""
    make_world(folder, entities, seed, dials=dials)
    kg, names, corpus = folder / "kg.nt.gz", folder / "names.jsonl", folder / "corpus.jsonl"
    facts = KgFacts.load(kg, world_schema(DOMAINS))
    domains, common = world_domains(DOMAINS, DOMAINS)
    settings = Settings(count, 0.5, domains, common, seed=seed)
    made = generate(facts, read_names(names), settings, support=Support.load(corpus))
    return as_json(made), Checker.of_files(kg, DECLARED, names, corpus)


def slice_schema() -> Schema:
    return merge({"films": load_domain(SLICE / "films.yaml")})


def from_slice(count: int, seed: int) -> list[dict]:
    """Questions about real films, four in ten ambiguous."""
    schema = slice_schema()
    facts = KgFacts.load(SLICE / "films.nt", schema)
    domains = {"films": tuple(schema.relations)}
    settings = Settings(count, 0.4, domains, seed=seed)
    return as_json(generate(facts, read_names(SLICE / "names.jsonl"), settings))


def as_json(questions) -> list[dict]:
    return [question.model_dump(mode="json") for question in questions]
