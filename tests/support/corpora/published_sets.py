"""Questions in every published form of question sets: the exact fields, made-up contents."""

import json
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]

SAMPLES: dict[str, Rows] = {
    "ambignq": [
        {
            "id": "a",
            "question": "Who made Heat?",
            "annotations": [
                {
                    "type": "multipleQAs",
                    "qaPairs": [
                        {"question": "Who made Heat (1986)?", "answer": ["Dick Richards"]},
                        {"question": "Who made Heat (1995)?", "answer": ["Michael Mann", "Mann"]},
                    ],
                }
            ],
        },
        {
            "id": "b",
            "question": "Who made Ronin?",
            "annotations": [{"type": "singleAnswer", "answer": ["John Frankenheimer"]}],
        },
    ],
    "asqa": [
        {
            "sample_id": "a",
            "ambiguous_question": "Who made Heat?",
            "qa_pairs": [
                {
                    "question": f"Who made Heat ({year})?",
                    "short_answers": [name],
                    "context": "No context provided",
                    "wikipage": None,
                }
                for year, name in ((1986, "Dick Richards"), (1995, "Michael Mann"))
            ],
            "wikipages": [{"title": "Heat", "url": "https://example.org/Heat"}],
            "annotations": [{"long_answer": "Two films have that name.", "knowledge": []}],
        }
    ],
    "cambignq": [
        {
            "id": "a",
            "question": "Who made Heat?",
            "viewed_doc_titles": ["Heat"],
            "used_queries": [{"query": "Heat"}],
            "nq_doc_title": "Heat",
            "dqs": ["Who made Heat (1986)?", "Who made Heat (1995)?"],
            "clarification_answers": [["Dick Richards", "Richards"], ["Michael Mann"]],
            "clarification_question": "Which version: the film of 1986, or the film of 1995?",
        }
    ],
    "condambigqa": [
        {
            "id": "c1",
            "question": "When?",
            "properties": [
                {
                    "condition": "In Italy",
                    "groundtruth": "1861",
                    "citations": [{"title": "1. Italy", "text": "United in 1861."}],
                }
            ],
            "ctxs": [{"title": "Italy", "text": "Italy was united in 1861."}],
        }
    ],
    "fanoutqa": [
        {
            "id": "f1",
            "question": "Who made each Heat?",
            "decomposition": [{"id": "d", "question": "Which?", "answer": ["Heat"]}],
            "answer": {"Heat (1986)": "Dick Richards", "Heat (1995)": ["Michael Mann", 1995, True]},
            "categories": ["Film"],
        },
        {"id": "f2", "question": "How many?", "decomposition": [], "answer": 4, "categories": []},
    ],
    "flashrag": [
        {"id": "test_0", "question": "who made ronin", "golden_answers": ["John Frankenheimer"]},
        {"id": "test_1", "question": "how many", "golden_answers": ["two", "2"], "metadata": {}},
    ],
    "hotpotqa": [
        {
            "_id": "h1",
            "question": "Who made the film that De Niro and Pacino share?",
            "answer": "Michael Mann",
            "type": "bridge",
            "level": "easy",
            "supporting_facts": [["Heat", 0]],
            "context": [["Heat", ["Mann made it.", " Both play in it."]], ["Jaws", ["A film."]]],
        }
    ],
    "2wiki": [
        {
            "_id": "w1",
            "question": "Who is the father of the director of Heat?",
            "answer": "Jack Mann",
            "type": "compositional",
            "entity_ids": "Q1_Q2",
            "answer_id": "Q3",
            "supporting_facts": [["Heat", 0]],
            "evidences": [["Heat", "director", "Michael Mann"]],
            "evidences_id": [["Q1", "director", "Q2"]],
            "context": [["Heat", ["Mann made it.", "It is a film."]]],
        }
    ],
    "mdcr": [
        {
            "mdcr": 1,
            "about": {"made": "by hand"},
            "documents": [
                {
                    "id": id,
                    "title": f"The {id} Fund",
                    "domain": "scholarships",
                    "sentences": {"c0": "<p>All of this:</p>", "c1": "<li>You live here.</li>"},
                    "conditions": {"c1": "c1"},
                    "expression": "c1",
                }
                for id in ("A", "B")
            ],
            "relations": [{"kind": "equivalent", "between": ["A-c1", "B-c1"]}],
            "scenarios": [{"id": "s", "documents": ["A", "B"], "text": "I am new.", "values": {}}],
        }
    ],
    "musique": [
        {
            "id": "2hop__1_2",
            "question": "Who made the film of 1995?",
            "answer": "Michael Mann",
            "answer_aliases": ["Mann"],
            "answerable": True,
            "paragraphs": [
                {"idx": 0, "title": "Heat", "paragraph_text": "A film.", "is_supporting": True}
            ],
            "question_decomposition": [{"id": 1, "question": "Which?", "answer": "Heat"}],
        }
    ],
    "qampari": [
        {
            "id": "q1",
            "question": "What did Mann make?",
            "answers": [["Heat"], ["Thief", "Violent Streets"]],
            "answer": "Heat, Thief.",
        }
    ],
}
_OWN: Rows = [
    {"id": "q1", "question": "Who made Heat?", "answers": {"1986": ["Richards"], "1995": ["Mann"]}}
]
_LINES = ("flashrag", "mdcr", "musique", "")


def sample(folder: Path, form: str) -> Path:
    """A file of that form, "" for our own, as it is published: lines, or an array."""
    rows = SAMPLES.get(form, _OWN)
    path = folder / f"{form or 'own'}.json"
    text = "\n".join(map(json.dumps, rows)) if form in _LINES else json.dumps(rows)
    path.write_text(text)
    return path
