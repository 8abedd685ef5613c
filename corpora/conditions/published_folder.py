"""MDCR as its authors publish it, a folder of four files, as the record of our own form.

`docs.json` has the sentences, `parsed.json` the conditions and expressions, `rels.json` the
relations, `qs.json` the scenarios; documents are numbered from 0. Here document n is `docN`, its
sentence m `docN-cM` (as the paper's answers name it), and condition c4 of parsed.json `p4`, since
`c4` is a sentence. Gold is not published: it follows from these, as of any other file.

The paper defines three relations; rels.json has five labels and entries without one:

* `conflicting`, `equivalent`; `including` and `included`, inclusive read from either end;
* `potentially conflicting` and `choose one` are in no definition and force no value: the first may
  both be true; of the second rels.json does not say whether one must be. Neither is read;
* an entry without a label relates nothing, and relations of a document that docs.json does not
  have (20, beside 0 to 19) concern no question.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from branchwise.base.errors import InputError, did_you_mean
from branchwise.base.files import MAX_JSON_BYTES, first_problem, open_data

FILES = ("docs.json", "parsed.json", "rels.json", "qs.json")
UNREAD = ("potentially conflicting", "choose one")
"""Labels of relations that no definition has."""
DOMAIN = "scholarships"
"""The domain that is published: no file of the folder says it."""
_LABELS = ("conflicting", "equivalent", "including", "included", *UNREAD)
_REMEDY = "compare with the published folder (docs/benchmarks/mdcr.md)"
_CONDITION = re.compile(r"(?:doc(\d{1,4})-)?c(\d{1,4})")
_GROUP = re.compile(r"(and|or)_\d+|all \((and)\)")
_WHOLE = "all (and)"
_T = TypeVar("_T")

_Number = Annotated[int, Field(strict=True, ge=0)]


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Document(_Record):
    title: str
    contents: list[str]


class _Parsed(_Record):
    conditions: dict[str, _Number | list[_Number] | str | list[str]]
    mapping: dict[str, _Number | list[_Number]] = {}


class _Relation(_Record):
    rel: str | None = None


class _Scenario(_Record):
    doc_idxs: list[_Number]
    given_conditions: list[str]
    given_values: list[Annotated[bool, Field(strict=True)]]
    scenario: str


def published_record(folder: Path) -> dict[str, Any]:
    """The folder as a record that `parse_conditions` reads. Raises InputError, with the file and
    the place in it, where a file is missing or is not as published."""
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        problem = f"has no {missing[0]}"
        remedy = f"name MDCR's folder, which holds {', '.join(FILES)}"
        raise InputError(problem, where=str(folder), remedy=remedy)
    documents = _read(folder / "docs.json", list[_Document])
    parsed = _read(folder / "parsed.json", list[_Parsed])
    if len(parsed) != len(documents):
        problem = f"has {len(parsed):,} documents, docs.json {len(documents):,}"
        _refuse(folder / "parsed.json", "", problem)
    relations = _read(folder / "rels.json", dict[str, dict[str, _Relation]])
    scenarios = _read(folder / "qs.json", list[_Scenario])
    return {
        "mdcr": 1,
        "documents": [
            _document(folder / "parsed.json", number, *both)
            for number, both in enumerate(zip(documents, parsed, strict=True))
        ],
        "relations": list(_relations(folder / "rels.json", relations, parsed)),
        "scenarios": [_scenario(folder / "qs.json", *entry) for entry in enumerate(scenarios)],
    }


def _read(path: Path, form: type[_T]) -> _T:
    with open_data(path) as stream:
        data = stream.read(MAX_JSON_BYTES + 1)
    if len(data) > MAX_JSON_BYTES:
        raise InputError(f"is larger than {MAX_JSON_BYTES // 2**20} MiB", where=str(path))
    try:
        return TypeAdapter(form).validate_json(data)
    except ValidationError as error:
        raise InputError(first_problem(error), where=str(path), remedy=_REMEDY) from None


def _document(path: Path, number: int, document: _Document, parsed: _Parsed) -> dict[str, Any]:
    """Expressions are built from the inside out: a group names what stands before it."""
    place = f"document {number}"
    stated: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for name, value in parsed.conditions.items():
        if group := _GROUP.fullmatch(name):
            parts = value if isinstance(value, list) else []
            for part in parts or [value]:
                if part not in texts:
                    _refuse(path, place, f"{name} names {part!r}, which is not before it")
            operator = (group[1] or group[2]).upper()
            texts[name] = f"({f' {operator} '.join(texts[str(part)] for part in parts)})"
        elif _CONDITION.fullmatch(name):
            at = parsed.mapping.get(name) if isinstance(value, str) else value
            if at is None:
                _refuse(path, place, f"mapping does not say of which sentence {name} is a part")
            texts[name] = _name(name)
            stated[_name(name)] = [f"c{n}" for n in (at if isinstance(at, list) else [at])]
        else:
            _refuse(path, place, f"{name!r} is neither a condition nor a group of conditions")
    if _WHOLE not in texts:
        _refuse(path, place, f"has no {_WHOLE!r}")
    return {
        "id": f"doc{number}",
        "title": document.title,
        "domain": DOMAIN,
        "sentences": {f"c{n}": text for n, text in enumerate(document.contents)},
        "conditions": stated,
        "expression": texts[_WHOLE],
    }


def _relations(
    path: Path, relations: Mapping[str, Mapping[str, _Relation]], parsed: Sequence[_Parsed]
) -> Iterator[dict[str, Any]]:
    for pair, labelled in relations.items():
        numbers = re.fullmatch(r"(\d{1,4})-(\d{1,4})", pair)
        if not numbers:
            _refuse(path, repr(pair), "is not two numbers of documents")
        documents = [int(number) for number in numbers.groups()]
        if max(documents) >= len(parsed):
            continue
        for names, relation in labelled.items():
            place = f"{pair}, {names}"
            ends = names.split("-")
            if len(ends) != 2:
                _refuse(path, place, "is not two conditions")
            for document, end in zip(documents, ends, strict=True):
                if end not in parsed[document].conditions or not _CONDITION.fullmatch(end):
                    _refuse(path, place, f"document {document} has no condition {end!r}")
            first, second = (f"doc{n}-{_name(end)}" for n, end in zip(documents, ends, strict=True))
            if relation.rel in ("conflicting", "equivalent"):
                yield {"kind": relation.rel, "between": [first, second]}
            elif relation.rel == "including":
                yield {"kind": "inclusive", "narrower": second, "wider": first}
            elif relation.rel == "included":
                yield {"kind": "inclusive", "narrower": first, "wider": second}
            elif relation.rel is not None and relation.rel not in UNREAD:
                remedy = did_you_mean(relation.rel, _LABELS)
                _refuse(path, place, f"unknown relation {relation.rel!r}", remedy)


def _scenario(path: Path, number: int, scenario: _Scenario) -> dict[str, Any]:
    place, values = f"entry {number}", scenario.given_values
    if len(values) != len(scenario.given_conditions):
        problem = f"has {len(scenario.given_conditions)} conditions, but {len(values)} values"
        _refuse(path, place, problem)
    given: dict[str, bool] = {}
    for id, value in zip(scenario.given_conditions, values, strict=True):
        if not id.startswith("doc") or not _CONDITION.fullmatch(id):
            _refuse(path, place, f"{id!r} is not a condition")
        if given.setdefault(_name(id), value) != value:
            _refuse(path, place, f"{id} is both true and false")
    return {
        "id": f"s{number}",
        "documents": [f"doc{n}" for n in scenario.doc_idxs],
        "text": scenario.scenario,
        "values": given,
    }


def _name(condition: str) -> str:
    """`c4` is `p4`, `doc3-c4` `doc3-p4`."""
    document, dash, name = condition.rpartition("-")
    return f"{document}{dash}p{name[1:]}"


def _refuse(path: Path, place: str, problem: str, remedy: str | None = None) -> NoReturn:
    where = f"{path}:{place}" if place else str(path)
    raise InputError(problem, where=where, remedy=remedy or _REMEDY)
