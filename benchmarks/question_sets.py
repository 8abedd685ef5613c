"""What reading a question set takes: processor seconds, and the most memory, by its size.

    python benchmarks/question_sets.py [--sizes 10000,100000,400000] [--repeats 5]

The sets are made up in the shape of AmbigNQ: half of the questions have one reading, the others
two to four, each answer with an alias; 500 bytes a question, as lines in our own format and as the
published array. Each figure is of a process of its own, which takes .2 s and 40 MB to start.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

LOAD = "import sys, gc; gc.set_threshold(10_000); from branchwise import load_questions; "
COMMANDS = {
    "load": [sys.executable, "-c", f"{LOAD}load_questions(sys.argv[1])", "SOURCE"],
    "check": [sys.executable, "-m", "branchwise", "questions", "check", "SOURCE"],
    "convert": [
        *(sys.executable, "-m", "branchwise", "questions", "convert", "SOURCE"),
        *("--out", "OUT", "--overwrite"),
    ],
}


def entries(count: int) -> Iterator[dict[str, object]]:
    """Entries of AmbigNQ."""
    for number in range(count):
        text = f"Who starred in play {number} on Broadway in the season of {1900 + number % 120}?"
        if number % 2:
            annotation: dict[str, object] = {
                "type": "singleAnswer",
                "answer": [f"Elizabeth Ashley {number}", f"Ashley {number}"],
            }
        else:
            pairs = [
                {
                    "question": f"{text[:-1]} as character {part}?",
                    "answer": [f"Robert Redford {part}", f"Redford {part}"],
                }
                for part in range(2 + number % 3)
            ]
            annotation = {"type": "multipleQAs", "qaPairs": pairs}
        yield {"id": str(10**17 + number), "question": text, "annotations": [annotation]}


def write(folder: Path, count: int) -> dict[str, tuple[str, Path]]:
    """The set in both forms: what names it, and its file."""
    published, own = folder / "published.json", folder / "own.jsonl"
    with published.open("w") as file:
        file.write("[")
        for number, entry in enumerate(entries(count)):
            file.write(f"{', ' if number else ''}{json.dumps(entry)}")
        file.write("]")
    command = ["questions", "convert", f"ambignq:{published}", "--out", str(own), "--overwrite"]
    subprocess.run([sys.executable, "-m", "branchwise", *command], check=True, capture_output=True)
    return {"own": (str(own), own), "ambignq": (f"ambignq:{published}", published)}


def measured(command: list[str]) -> tuple[float, int]:
    """Processor seconds and peak bytes of a process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", default="10000,100000,400000")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print("questions  form     MB   command      s  peak MB")
    for count in map(int, options.sizes.split(",")):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            for form, (source, file) in write(folder, count).items():
                for what, words in COMMANDS.items():
                    put = {"SOURCE": source, "OUT": str(folder / "out.jsonl")}
                    command = [put.get(word, word) for word in words]
                    found = [measured(command) for _ in range(options.repeats)]
                    seconds = statistics.median(second for second, _ in found)
                    peak = max(memory for _, memory in found)
                    size = file.stat().st_size
                    print(
                        f"{count:>9,}  {form:<7} {size / 1e6:>4.0f}   {what:<8} {seconds:>6.1f}"
                        f"  {peak / 1e6:>7,.0f}",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
