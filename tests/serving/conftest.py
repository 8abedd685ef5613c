"""A corpus and a graph on disk, and what serves them."""

import contextlib
import os
import subprocess

import pytest

from support.corpora.small import bm25_corpus
from support.kg.aurora import aurora_kg
from support.retrieval_server import RetrievalServer, hangs
from support.serving.serving_peers import KINDS, PLACES, Served, command


@pytest.fixture(scope="session")
def corpus_dir(tmp_path_factory):
    """Forty passages, with a bm25 index."""
    passages = {
        f"{place}-{kind}": f'"{place}"\nIs {place} a {kind}? It stands here as one.'
        for place in PLACES
        for kind in KINDS
    }
    return bm25_corpus(tmp_path_factory.mktemp("served"), passages)


@pytest.fixture(scope="session")
def kg_dir(tmp_path_factory):
    return aurora_kg(tmp_path_factory.mktemp("graph"))


@pytest.fixture
def serve(process):
    """Start `branchwise serve ...` in a process of its own; killed at the end."""
    pipe, environment = subprocess.PIPE, os.environ | {"NO_PROXY": "127.0.0.1"}
    with contextlib.ExitStack() as stack:

        def start(*arguments: object) -> Served:
            process = stack.enter_context(
                subprocess.Popen(
                    command(*arguments), stdout=pipe, stderr=pipe, text=True, env=environment
                )
            )
            stack.callback(process.kill)
            assert process.stdout is not None
            # A server that ends instead would be waited for by whoever holds a request in it.
            line = process.stdout.readline()
            assert line, process.communicate()[1]
            return Served(process, line)

        yield start


@pytest.fixture
def stuck():
    """A retrieval server elsewhere that answers the probe and nothing else, ever."""
    with RetrievalServer() as running:
        running.play(None, *[hangs()] * 10)
        yield running
