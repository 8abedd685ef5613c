"""What corpora are built from: passages in every form, documents, relevance judgements."""

import gzip
import io
import json

from fuzzing import forms
from fuzzing.ground import Ground
from fuzzing.target import Target
from fuzzing.targets.files import Command, in_file, lines, named_file

_OUT = "out.C"
_ETNA = {"title": "Etna", "text": "Etna is a volcano.\n\nIt is on Sicily."}
_RHINE = {"title": "Rhine", "text": ["A river.", "It is long."], "n": 1.5}
_PAGE = b"""<!DOCTYPE html><html><head><meta charset="utf-8"><title>Etna - Wiki</title></head>
<body><nav><ul><li>Home</ul></nav><main><h1>Etna</h1><p>Etna is a <b hidden>v</b> volcano.<br>
<table><tr><th>Height<td>3,357 m</table><ul><li>a<li>b</ul><pre> x
y</pre><svg><text>z</text></svg>&eacute;&#233;</main><footer>x</footer></body></html>"""
_MARKDOWN = b"""---
title: "Etna: a volcano"
---
# Etna

Etna is a *volcano* on [Sicily](x "y").

| a | b |
|---|---|
| 1 | 2 |

- one
  1. two

> ```
> # code
"""


def _passages(_: Ground) -> list[bytes]:
    import pyarrow as arrow
    from pyarrow import parquet

    packed = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist([{"id": 1, **_ETNA}, {"id": 2, **_ETNA}]), packed)
    page = {
        "wikipedia_id": "1",
        "wikipedia_title": "Etna",
        "text": ["Etna\n", "Section::::A.\n", "b"],
    }
    beir = lines({"_id": "p", **_ETNA}, {"_id": 7, **_RHINE})
    return [
        b"p.jsonl\n" + beir,
        b"p.jsonl\n"
        + lines({"contents": '"Etna"\nA volcano.', "statements": [["Q1", "P57", "Q2"]]}),
        b"p.jsonl.gz\n" + gzip.compress(beir, mtime=0),
        f"p.json\n{json.dumps([_ETNA, _RHINE], indent=1)}".encode(),
        b'p.csv\n\xef\xbb\xbfid;title;text\r\n1;Etna;"A ""volcano"";\non Sicily"\r\n2;;x\r\n',
        b'p.tsv\nid\ttext\ttitle\n1\t"a ""b"""\tEtna\n2\tc\tRhine\n',
        b"p.parquet\n" + packed.getvalue(),
        b"kilt.jsonl\n" + lines(page, page | {"wikipedia_id": "2"}),
    ]


def _documents(_: Ground) -> list[bytes]:
    return [
        b"d.html\n" + _PAGE,
        b"d.htm\n<font><center>" + _PAGE.replace(b"utf-8", b"windows-1252"),
        b"d.md\n" + _MARKDOWN,
        b"d.txt\nEtna\n\nA volcano.\n\n" + "Mongibello è un vulcano. 富士山。".encode(),
    ]


def _built(source: str, *options: str) -> tuple[Command, ...]:
    return (
        ("corpus", "build", "--from", source, *options, "--out", _OUT),
        ("corpus", "info", _OUT),
        ("corpus", "index", _OUT, "--kind", "bm25"),
        ("corpus", "search", _OUT, "volcano", "--json"),
        ("ask", "Which volcano is on Sicily?", "--corpus", _OUT, "--json"),
    )


TARGETS = (
    Target("passages", forms.by_suffix(forms.text), _passages, named_file(*_built("NAME"))),
    Target(
        "documents",
        forms.by_suffix(forms.text),
        _documents,
        named_file(*_built("folder:NAME", "--split", "headings")),
    ),
    Target(
        "judgements",
        forms.text,
        lambda _: [
            b"query-id\tcorpus-id\tscore\nq1\tp1\t1\n",
            b"q1 0 p1 2\nq1 0 p2 0\nq2 0 p1 -1\n",
        ],
        in_file(
            "test.tsv",
            *_built("c.jsonl")[::2],
            ("corpus", "eval", _OUT, "--questions", "q.jsonl", "--qrels", "test.tsv", "--json"),
            with_files={
                "c.jsonl": lines({"id": "p1", "text": "A film."}, {"id": "p2", "text": "More."}),
                "q.jsonl": lines({"id": "q1", "question": "film"}),
            },
        ),
    ),
)
