"""Small corpora: passages by id, each a line with its title before its text."""

import json
from collections.abc import Mapping
from pathlib import Path

from branchwise.corpora.build import build_corpus, build_index

TWELVE = {
    "volcano": "Etna\nEtna is an active volcano on the east coast of Sicily.",
    "volcano-2": "Vesuvius\nVesuvius buried Pompeii under ash in the year 79.",
    "river": "Rhine\nThe Rhine rises in the Alps and flows into the North Sea.",
    "river-2": "Danube\nThe Danube flows through ten countries to the Black Sea.",
    "bread": "Sourdough\nSourdough bread rises with wild yeast and bacteria.",
    "cheese": "Gouda\nGouda is a yellow cheese made of the milk of cows.",
    "chess": "Chess\nChess is played by two players on a board of 64 squares.",
    "go": "Go\nGo is a board game of territory that was invented in China.",
    "moon": "Moon\nThe Moon is the only natural satellite of the Earth.",
    "mars": "Mars\nMars is the fourth planet and appears red from iron oxide.",
    "cello": "Cello\nThe cello is a bowed instrument with four strings.",
    "flute": "Flute\nA flute makes its sound from a flow of air over an opening.",
}
FILMS = {
    "heat-1995": "Heat (1995 film)\nHeat is a crime film that Michael Mann wrote and directed.",
    "heat-1986": "Heat (1986 film)\nHeat is a film with Burt Reynolds as a bodyguard.",
    "kong-1933": "King Kong (1933 film)\nMerian C. Cooper directed the first King Kong film.",
    "kong-1976": "King Kong (1976 film)\nJohn Guillermin directed the second King Kong film.",
    "island": "The Island (2005 film)\nMichael Bay directed The Island after five other films.",
}


def bare_corpus(folder: Path, passages: Mapping[str, str]) -> Path:
    """The folder with nothing but a corpus.jsonl of these passages."""
    folder.mkdir(exist_ok=True)
    _write(folder / "corpus.jsonl", passages)
    return folder


def bm25_corpus(folder: Path, passages: Mapping[str, str]) -> Path:
    """The corpus `folder/C`, built from these passages, with a BM25 index."""
    _write(folder / "passages.jsonl", passages)
    build_corpus(str(folder / "passages.jsonl"), folder / "C")
    build_index(folder / "C", "bm25")
    return folder / "C"


def both_indexes(folder: Path, passages: Mapping[str, str]) -> Path:
    """The folder with a bare corpus and its indexes flat (the real encoder) and bm25."""
    bare_corpus(folder, passages)
    build_index(folder, "flat")
    build_index(folder, "bm25")
    return folder


def _write(path: Path, passages: Mapping[str, str]) -> None:
    lines = ({"id": id, "contents": contents} for id, contents in passages.items())
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
