"""Give mutated inputs to the product and keep those that it does not take as it should.

    python tests/fuzz --seconds 60 --seed 1          # all targets; exit code 1 if any is found
    python tests/fuzz --targets questions,sparql     # some of them
    python tests/fuzz FILE...                        # inputs again: findings/TARGET/*.input

An input is accepted or refused in one line. Everything else is found: a traceback, a library's own
words, more than ten seconds, more than a gigabyte, a process that dies.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

os.environ |= {
    "HF_HUB_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "MALLOC_ARENA_MAX": "2",
    "NO_PROXY": "127.0.0.1,localhost",
    "OPENAI_API_KEY": "none",
    "COLUMNS": "100",
}
sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[1]))  # for `support`

from fuzzing.campaign import Plan, load, run  # noqa: E402
from fuzzing.findings import explain  # noqa: E402
from fuzzing.ground import Ground  # noqa: E402
from fuzzing.target import Target  # noqa: E402
from fuzzing.targets import TARGETS  # noqa: E402

FINDINGS = Path(__file__).parent / "findings"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, help="inputs to try again")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--inputs", type=int, default=10**9, help="of each target, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--targets", type=lambda text: text.split(","), default=list(TARGETS))
    options = parser.parse_args()
    if unknown := [name for name in options.targets if name not in TARGETS]:
        parser.error(f"no target {unknown[0]!r}; there are {', '.join(TARGETS)}")
    if options.files:
        sys.exit(tried_again([file.resolve() for file in options.files]))
    plan = Plan(options.seconds, options.seed, options.workers, FINDINGS, options.inputs)
    load()
    found = 0
    for tally in run([TARGETS[name] for name in options.targets], plan):
        found += tally.found
        sys.stdout.write(f"{tally.line()}\n")
        sys.stdout.flush()
    if found:
        sys.stdout.write(f"{found:,} found, one of each kind in {FINDINGS}\n")
    sys.exit(bool(found))


def tried_again(files: Sequence[Path]) -> bool:
    """Try inputs in this process, the folder of each naming its target; whether one is found."""
    found = False
    with tempfile.TemporaryDirectory(prefix="fuzz-") as name:
        ground = Path(name) / "ground"
        ground.mkdir()
        for number, file in enumerate(files):
            here = Path(name) / str(number)
            here.mkdir()
            os.chdir(here)
            verdict = again(TARGETS[file.parent.name], file.read_bytes(), Ground(ground), here)
            found = found or verdict.startswith("found")
            sys.stdout.write(f"{file}: {verdict}\n")
            os.chdir("/")
    return found


def again(target: Target, data: bytes, ground: Ground, here: Path) -> str:
    """The verdict, or how the input is found."""
    try:
        with target.open(ground, here) as check:
            return check(data)
    except Exception as error:  # noqa: BLE001 - this is what is asked for
        return f"found\n{explain(error)}"


if __name__ == "__main__":
    main()
