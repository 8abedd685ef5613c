"""Look into a world: a shared name, the passages about one of its bearers, and what they state.

Reads nothing but the world's files, to show what is in them.

    branchwise world make --entities 600 --seed 7 --out W
    python examples/world/look.py W
    python examples/world/look.py W NAME    # another shared name
"""

import gzip
import json
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

TERM = re.compile(r'<http://www\.wikidata\.org/entity/([QP]\d+)> <\S+#label> "(.*)"@en \.')


def main(folder: Path, name: str | None = None) -> None:
    """Print a shared name, else the first that three entities share, and one of its bearers."""
    if not (folder / "names.jsonl").is_file():
        sys.exit(f"{folder} is not a world; make one with `branchwise world make`")
    with gzip.open(folder / "kg.nt.gz", "rt", encoding="utf-8") as kg:
        labels = {found[1]: found[2] for line in kg if (found := TERM.match(line))}
    shared = find(folder, name)
    if shared is None:
        sys.exit(f"no entities share {'a name' if name is None else repr(name)} in {folder}")

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


def find(folder: Path, name: str | None) -> dict[str, Any] | None:
    """The entry of a name, or the first of three bearers or more."""
    with (folder / "names.jsonl").open(encoding="utf-8") as file:
        entry: dict[str, Any]
        for entry in map(json.loads, file):
            if entry["name"] == name or (name is None and len(entry["entities"]) > 2):
                return entry
    return None


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python examples/world/look.py W [NAME]")
    main(Path(sys.argv[1]), *sys.argv[2:])
