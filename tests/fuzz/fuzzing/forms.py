"""Forms of inputs: how each is mutated so that it is still nearly what a reader expects."""

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

from fuzzing import bytewise
from fuzzing.values import mutated_value

Form = Callable[[bytes, Sequence[bytes], random.Random], bytes]
"""From a seed, all seeds and a source of chance to an input."""


def either(structured: Form) -> Form:
    """A form whose inputs are mutated by their structure mostly, by bytes sometimes, or by both."""

    def mutate(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
        chance = rng.random()
        if chance < 0.7:
            data = structured(data, seeds, rng)
        if chance > 0.6:
            data = bytewise.mutated(data, seeds, rng)
        return data[: bytewise.LARGEST]

    return mutate


def _json(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    return written_json(mutated_value(json.loads(data), rng), rng)


def _json_lines(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    lines = data.splitlines()
    at = rng.randrange(len(lines))
    lines[at] = _json(lines[at], seeds, rng)
    return b"\n".join(lines) + rng.choice((b"\n", b""))


def _events(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """Server-sent events, one chunk of JSON each."""
    events = data.split(b"\n\n")
    chunks = [n for n, event in enumerate(events) if event.startswith(b"data: {")]
    # A seed that a server sends in place of events has none.
    for _ in range(rng.choice((1, 1, 2)) if chunks else 0):
        at = rng.choice(chunks)
        if events[at].startswith(b"data: {"):
            try:
                events[at] = b"data: " + _json(events[at][6:], seeds, rng)
            except ValueError:
                events[at] = b"data:"
    if rng.random() < 0.3:
        at = rng.randrange(len(events))
        events[at:at] = [rng.choice((b": ping", b"data:", b"event: error", events[at], b"id: 1"))]
    if rng.random() < 0.2:
        del events[rng.randrange(len(events))]
    return b"\n\n".join(events)


def _yaml(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    import yaml

    value = mutated_value(yaml.safe_load(data), rng)
    if rng.random() < 0.1:
        value = [value, value]  # written as an anchor and an alias
    try:
        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=rng.random() < 0.5)
    except (yaml.YAMLError, ValueError, RecursionError):
        text = json.dumps(value, default=str)
    return text.encode("utf-8", "surrogatepass")


def _markup(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """XML: tags and what stands between them."""
    return _pieces(rb"<[^>]*>|[^<]+", data, seeds, rng, (b"<a/>", b"</x>", b"&x;", b"<![CDATA["))


_WORDS = rb"<[^>\s]*>|\"[^\"]*\"|[?$]\w+|\w+:?\w*|\s+|."
_SPARQL = tuple(
    b"SELECT DISTINCT WHERE { } ( ) UNION OPTIONAL MINUS FILTER EXISTS NOT BIND VALUES SERVICE "
    b"GRAPH FROM NAMED CONSTRUCT DESCRIBE ASK INSERT DELETE LOAD DROP ORDER BY DESC LIMIT OFFSET "
    b"GROUP HAVING COUNT SUM GROUP_CONCAT SEPARATOR AS IN REGEX STRLEN REPLACE IF COALESCE LANG "
    b"DATATYPE BOUND a ?x $y * + ? / | ^ ! = != < && || - wdt:P31 wd:Q5 p:P31 rdfs:label # . ; , "
    b"wikibase:label bd:serviceParam \"a\"@en 'b' 1.5e3 -1 true [] _:b << >> \\u0022".split()
)
_TRIPLES = (b"<a>", b"_:b", b'"x"@en', b'"1"^^<x>', b".", b"@prefix", b"a", b"<<", b"\\u0022", b"#")


def _query(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    return _pieces(_WORDS, data, seeds, rng, _SPARQL)


def _triples(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    return _pieces(_WORDS, data, seeds, rng, _TRIPLES)


def _pieces(
    pattern: bytes, data: bytes, seeds: Sequence[bytes], rng: random.Random, words: Sequence[bytes]
) -> bytes:
    """Tokens left out, doubled, moved, or exchanged for those of another seed or of `words`."""
    pieces = re.findall(pattern, data, re.DOTALL) or [b""]
    others = re.findall(pattern, rng.choice(seeds), re.DOTALL) or [b""]
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        at = rng.randrange(len(pieces))
        new = rng.choice((*words, *rng.sample(others, min(8, len(others)))))
        how = rng.randrange(6)
        if how == 0 and len(pieces) > 1:
            del pieces[at]
        elif how == 1:
            pieces[at] = new
        elif how == 2:
            pieces[at:at] = [b" ", new, b" "]
        elif how == 3:
            end = at + rng.randrange(1, 12)
            pieces[at:at] = pieces[at:end] * rng.choice((1, 1, 20))
        elif how == 4:
            other = rng.randrange(len(pieces))
            pieces[at], pieces[other] = pieces[other], pieces[at]
        else:
            start = rng.randrange(len(others))
            pieces[at:at] = others[start : start + 15]
    return b"".join(pieces)


def after_line(form_of: Callable[[bytes], Form]) -> Form:
    """What follows the first line, which stays and tells the form of the rest."""

    def mutate(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
        head, _, content = data.partition(b"\n")
        others = [other.partition(b"\n")[2] for other in seeds]
        return head + b"\n" + form_of(head)(content, others, rng)

    return mutate


def _json_texts(data: bytes, seeds: Sequence[bytes], rng: random.Random) -> bytes:
    """A text with a JSON object in it."""
    start, end = data.find(b"{"), data.rfind(b"}") + 1
    try:
        inner = _json(data[start:end], seeds, rng)
    except ValueError:
        return bytewise.mutated(data, seeds, rng)
    return data[:start] + inner + data[end:]


def written_json(value: Any, rng: random.Random) -> bytes:
    """JSON, sometimes as no proper writer would leave it."""
    text = json.dumps(value, ensure_ascii=rng.random() < 0.7)
    if rng.random() < 0.05:
        text = re.sub(r'("\w+"): ', r"\1: null, \1: ", text, count=rng.choice((1, 3)))
    return text.encode("utf-8", "surrogatepass")


json_value, json_lines = either(_json), either(_json_lines)
events, yaml_document, markup = either(_events), either(_yaml), either(_markup)
query, triples = either(_query), either(_triples)
text = binary = bytewise.mutated
json_texts = either(_json_texts)
BY_SUFFIX = {
    **{b"json": json_value, b"jsonl": json_lines, b"html": markup, b"htm": markup},
    **{b"gz": binary, b"zst": binary},
}


def by_suffix(otherwise: Form = binary) -> Form:
    """A file whose name stands on the first line."""
    return after_line(lambda name: BY_SUFFIX.get(name.rpartition(b".")[2], otherwise))


member = by_suffix()
after_head = after_line(
    lambda head: (
        json_value if b"json" in head else markup if b"xml" in head or b"html" in head else query
    )
)
"""A body after a line with its status and media type."""
