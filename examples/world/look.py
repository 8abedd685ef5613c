"""Look into a world: a shared name, the passages about one of its bearers, and what they state.

Reads nothing but the world's files, to show what is in them.

    branchwise world make --entities 600 --seed 7 --out W
    python examples/world/look.py W
"""

import gzip
import json
import re
import sys
import textwrap
from pathlib import Path

TERM = re.compile(r'<http://www\.wikidata\.org/entity/([QP]\d+)> <\S+#label> "(.*)"@en \.')


def main(folder: Path) -> None:
    """Print the first name that bearers of three or more kinds share, and one of them."""
    with gzip.open(folder / "kg.nt.gz", "rt", encoding="utf-8") as graph:
        labels = {found[1]: found[2] for line in graph if (found := TERM.match(line))}
    with (folder / "names.jsonl").open(encoding="utf-8") as file:
        shared = next(name for name in map(json.loads, file) if len(name["entities"]) > 2)

    print(f"{shared['name']} may refer to:")
    for entity in shared["entities"]:
        print(f"  {entity['title']}: {entity['description']} ({entity['id']})")

    with (folder / "corpus.jsonl").open(encoding="utf-8") as file:
        for record in map(json.loads, file):
            if record["entity"] == shared["entities"][0]["id"]:
                title, text = record["contents"].split("\n", 1)
                print(f"\n[{record['id']}] {title}")
                print(textwrap.fill(text, 96))
                for statement in record["statements"]:
                    print("  " + " | ".join(labels.get(term, term) for term in statement))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
