"""A run in few words."""

import pytest

from branchwise.base.plugins.specs import short_spec
from branchwise.ui.traces.lines import system_words


def test_plug_ins_are_shown_by_name_and_not_by_their_place():
    system = {
        "model": "offline",
        "tools": ["local_retriever", "/data/work/slow.py:slow"],
        "nodes": ["/data/work/filters.py:films"],
        "retriever": "/data/work/by_title.py:by_title",
    }
    assert system_words(system) == ("offline · local_retriever, slow · node films · by_title")
    served = {"model": "offline", "retriever": "http://localhost:8000/retrieve"}
    assert system_words(served) == "offline · http://localhost:8000/retrieve"


@pytest.mark.parametrize(
    ("spec", "short"),
    [
        ("mcp:/usr/bin/python /data/server.py#search", "mcp:python server.py#search"),
        ("mcp:http://localhost:8000/mcp#search", "mcp:http://localhost:8000/mcp#search"),
        ("mcp:http://localhost:8000/mcp?key=secret#search", "mcp"),
        ("mcp:http://user:secret@localhost/mcp", "mcp"),
        ("mcp:'", "mcp"),
        ("package.module:name", "name"),
        ("/data/slow.py", "slow.py"),
    ],
)
def test_a_spec_in_few_words_has_no_folder_and_no_key(spec, short):
    assert short_spec(spec) == short
