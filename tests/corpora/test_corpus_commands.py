"""`branchwise corpus …` as a user types it."""

import json

import pytest
from typer.testing import CliRunner

from branchwise.base.errors import InputError
from branchwise.commands.corpus import corpus_app
from branchwise.corpora.forms import CORPUS_FORMS
from branchwise.corpora.passages import passage_id
from support.needs import needs_local


def invoke(*arguments):
    result = CliRunner().invoke(corpus_app, [str(a) for a in arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_build_index_search_and_info_work_in_a_row(write, tmp_path):
    source = write(
        "in.jsonl",
        {"id": "etna", "contents": '"Etna"\nA volcano on Sicily.'},
        {"id": "rhine", "contents": '"Rhine"\nA river from the Alps to the sea.'},
    )
    folder = tmp_path / "C"
    built = invoke("build", "--from", source, "--out", folder)
    assert "2 passages" in built.stdout
    assert "no index yet" in invoke("info", folder).stdout
    invoke("index", folder, "--kind", "bm25")
    found = invoke("search", folder, "volcano", "--k", "1")
    assert "1. [etna] Etna" in found.stdout
    (hit,) = json.loads(invoke("search", folder, "rivers", "--json").stdout)
    assert (hit["id"], hit["title"]) == ("rhine", "Rhine")
    assert "no passage matches" in invoke("search", folder, "xylophone").stdout
    facts = json.loads(invoke("info", folder, "--json").stdout)
    assert (facts["passages"], list(facts["indexes"])) == (2, ["bm25"])


def test_info_says_what_is_wrong_with_an_index(write, tmp_path):
    source = write("in.jsonl", {"id": "p", "contents": "T\nvolcano"})
    invoke("build", "--from", source, "--out", tmp_path / "C")
    invoke("index", tmp_path / "C", "--kind", "bm25")
    (tmp_path / "C" / "corpus.jsonl").write_text('{"id": "q", "contents": "U\\nx"}\n')
    assert "index bm25: " in (shown := invoke("info", tmp_path / "C").stdout)
    assert "another corpus" in shown


def test_bm25_takes_no_encoder(corpus_dir):
    with pytest.raises(InputError, match="bm25 has no encoder"):
        invoke("index", corpus_dir, "--kind", "bm25", "--encoder", "x")


@needs_local
def test_what_was_built_and_what_was_left_out_is_said(write, tmp_path):
    passages = [{"title": t, "text": f"about {t}"} for t in ("A", "B\x1b[31m", "A", "C", "D", "E")]
    source = write("in.jsonl", *passages, {"title": "", "text": ""})
    lines = invoke("build", "--from", source, "--out", tmp_path / "C").stdout.splitlines()
    assert lines[:4] == [
        f"{tmp_path / 'C'}: 5 passages, 0.0 MiB",
        f"read as jsonl:{source}",
        f"left out: 1 passage without a text: {source}:7",
        f"left out: 1 passage that is there already: {source}:3",
    ]
    assert [line for line in lines if line.startswith("- ")] == [
        f"- [{passage_id(title, f'about {title}')}] {title}" for title in "ACE"
    ]
    assert lines[-1] == f"next: branchwise corpus index {tmp_path / 'C'} --kind bm25"


def test_the_same_for_a_program(write, tmp_path):
    source = f"csv:{write('in.csv', 'name,body', 'A,one', 'A,one', 'B,')}"
    options = ("--field", "text=body", "title=name", "--out", tmp_path / "C", "--json")
    said = json.loads(invoke("build", "--from", source, *options).stdout)
    assert said["source"] == source
    assert said["passages"] == 2
    assert said["left_out"] == {"double": {"count": 1, "first": f"{source.removeprefix('csv:')}:3"}}
    assert said["sample"][0] == {"id": passage_id("A", "one"), "title": "A", "text": "one"}


def test_forms_are_listed(tmp_path):
    shown = invoke("forms").stdout
    for form in CORPUS_FORMS.values():
        assert f"{form.name}:{form.place}  {form.about}\n    fields: {form.fields}\n" in shown
    listed = json.loads(invoke("forms", "--json").stdout)
    assert [form["name"] for form in listed] == [*CORPUS_FORMS]
    published = [form["name"] for form in listed if form["licence"]]
    assert published == ["hf", "beir", "dpr", "hipporag", "kilt"]
