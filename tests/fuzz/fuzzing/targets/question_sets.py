"""Question sets in every form: a file whose name, on the input's first line, says the form."""

import json
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from fuzzing import forms
from fuzzing.ground import Ground
from fuzzing.target import Check, Target
from fuzzing.targets.files import PROGRESS, through
from fuzzing.typed import typed
from fuzzing.verdicts import FoundError, Verdict, ended, plain
from support.corpora.published_sets import SAMPLES

_FIELDS = ("--field", "question=info.question", "--field", "answers=info.gold")
_ROW = {"id": 1, "info": {"question": "Who?", "gold": ["Mann", ["Scott", "R. Scott"]]}, "n": 0.5}
_CSV = (
    b"\xef\xbb\xbfid;question;answers;hops\r\n"
    b'1;"Who; and ""when""?\n";Mann,Scott;2\r\n2;What?;"[""Heat"", [""Thief""]]";\r\n'
)
_SEPARATOR = ("--separator", ",")


def _checked(*command: str) -> Verdict:
    """Of `questions check`, whose mistakes are its result."""
    code, out, errors = typed("questions", "check", *command)
    if code == 1 and out and not errors.replace("branchwise: warning:", "").strip():
        return plain(out, "accepted")
    return ended(code, errors, lines=PROGRESS)


def _compare(named: str, options: Sequence[str], converted: str) -> None:
    """Raise FoundError unless the converted set is the same set."""
    from branchwise.commands.options import read_questions
    from branchwise.corpora.loaders import load_questions

    fields = [field for option, field in pairwise(options) if option == "--field"]
    separator = next((text for option, text in pairwise(options) if option == "--separator"), None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        source = load_questions(read_questions(named, fields, separator), require_gold=False)
        again = load_questions(converted, require_gold=False)
    if (again.task, again.digest) != (source.task, source.digest):
        raise FoundError(f"converted, {named} is another set")


def _by_name(source: Callable[[str], tuple[str, ...]]) -> Callable[[Ground, Path], Iterator[Check]]:
    """Checks of a file by what `source` makes of its name: the set and its options."""

    @contextmanager
    def opened(ground: Ground, here: Path) -> Iterator[Check]:
        def check(data: bytes) -> Verdict:
            first, _, content = data.partition(b"\n")
            name = os.fsdecode(first)
            (here / name).write_bytes(content)
            named, *options = source(name)
            convert = ("questions", "convert", named, *options, "--out", "out.jsonl")
            verdict = through(convert, ("questions", "info", "out.jsonl"))(here)
            if verdict == "accepted":
                _compare(named, options, "out.jsonl")
            (here / "mended.jsonl").unlink(missing_ok=True)
            _checked(named, *options, "--fix", "mended.jsonl")
            return verdict

        yield check

    return opened


def _published(name: str) -> tuple[str, ...]:
    form = name.partition(".")[0]
    return (name if form == "own" else f"{form}:{name}",)


def _table(name: str) -> tuple[str, ...]:
    kind = name.rpartition(".")[2]
    return (f"{kind}:{name}", *(_SEPARATOR if kind == "csv" else _FIELDS))


_OWN = [
    {"id": "q1", "question": "Who made Heat?", "answers": {"1986": ["Richards"], "1995": "Mann"}},
    {"id": 2, "question": "Who?", "answers": [["A", "AA"], {"text": 3, "aliases": ["x"], "n": 1}]},
    {
        "id": "q3",
        "question": "Which volcanoes?",
        "ambiguous": True,
        "branches": [{"name": "x", "answers": ["Etna"], "qid": "Q1", "citations": ["p1"]}],
        "passages": [{"id": "p1", "title": "Etna", "text": "A volcano."}, "Fuji is another."],
        "plan": [{"step": 1}],
        "meta": {"domain": "film", "deep": {"a": [1, 2.5, None]}},
        "colour": "red",
    },
]


def _seeds_of_forms(_: Ground) -> list[bytes]:
    """Each form as an array and as lines, and ASQA's object of splits."""
    seeds = [f"own.jsonl\n{chr(10).join(map(json.dumps, _OWN))}".encode()]
    for form, rows in SAMPLES.items():
        lines = "\n".join(map(json.dumps, rows))
        seeds += [f"{form}.json\n{json.dumps(rows)}".encode(), f"{form}.jsonl\n{lines}".encode()]
    splits = {"dev": {str(n): row for n, row in enumerate(SAMPLES["asqa"])}}
    return [*seeds, f"asqa.json\n{json.dumps(splits)}".encode()]


def _seeds_of_tables(_: Ground) -> list[bytes]:
    import io

    import pyarrow as arrow
    from pyarrow import parquet

    row = {"id": 2, "info": {"question": "Who?", "gold": ["Mann"]}}
    packed = io.BytesIO()
    parquet.write_table(arrow.Table.from_pylist([row, row | {"id": 3}]), packed)
    lines = "\n".join(json.dumps(one) for one in (_ROW, row))
    return [b"q.csv\n" + _CSV, f"q.jsonl\n{lines}".encode(), b"q.parquet\n" + packed.getvalue()]


TARGETS = (
    Target("question-forms", forms.by_suffix(), _seeds_of_forms, _by_name(_published)),
    Target("question-tables", forms.by_suffix(), _seeds_of_tables, _by_name(_table)),
)
