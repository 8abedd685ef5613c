"""Whatever is killed goes on: runs, studies, forks, scores and builds under SIGKILL.

    nice python benchmarks/kills.py                       # 1,000 kills
    nice python benchmarks/kills.py --only study --kills 50 --seed 2

A command is started, killed at a random moment (anywhere in its life, in its first and last
milliseconds, or just when it has written something), and typed again, or continued by `resume`,
until it ends; then it is compared with one that was not disturbed. After each kill the stores are
read, from a copy: no response that was recorded then may be asked for again, which the server says
that is asked, and nothing that was recorded or had ended may be lost or another. What is built of
files is not there or whole. Of a killed process nothing may be left running, and no folder that
the next does not clear away.

A share of the kills (`--real`) meets processes of `python -m branchwise`, the others forks of one
that has imported it (`killing/launcher.py` says what that leaves out). Linux only.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")
# Where pyarrow is installed, its allocator would start a thread.
os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
os.environ |= {"HF_HUB_OFFLINE": "1", "NO_PROXY": "127.0.0.1", "OPENAI_API_KEY": "none"}

from killing.campaign import Campaign, Tally  # noqa: E402
from killing.inputs import make_inputs, shares  # noqa: E402
from killing.launcher import Launcher, launch  # noqa: E402
from killing.server import CountingServer  # noqa: E402
from killing.subjects import Place  # noqa: E402
from machine import describe_machine  # noqa: E402

COLUMNS = ("killed", "kills", "real ones", "cases", "sent again", "children gone in, s", "faults")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--real", type=float, default=0.11, help="share of real processes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="words, by commas: subjects that have one")
    options = parser.parse_args()
    launcher = launch()
    # From here on there may be threads, and folders to remove at the end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    server = CountingServer().start()
    print(describe_machine(), flush=True)
    with tempfile.TemporaryDirectory(prefix="kills-") as root:
        tallies = campaigns(launcher, server, Path(root), options)
    print(f"\n| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for name, tally in tallies.items():
        print(row(name, tally))
    print(row("all", total(list(tallies.values()))))
    for name, tally in tallies.items():
        for fault, count in tally.faults.items():
            print(f"{name}: {count} x {fault}")
    server.stop()
    sys.exit(any(tally.faults for tally in tallies.values()))


def campaigns(
    launcher: Launcher, server: CountingServer, root: Path, options: argparse.Namespace
) -> dict[str, Tally]:
    """Kill each subject its share of times."""
    place = Place(root / "inputs", server, root / "scratch")
    make_inputs(launcher, place)
    words = options.only.split(",")
    chosen = [(s, share) for s, share in shares(place) if any(w in s.name for w in words)]
    whole, tallies = sum(share for _, share in chosen), {}
    for subject, share in chosen:
        began, wanted = time.monotonic(), round(options.kills * share / whole)
        moments = random.Random(f"{options.seed} {subject.name}")
        campaign = Campaign(subject, launcher, root / "case", moments, options.real)
        campaign.learn()
        for _ in campaign.kill(wanted):
            seconds = time.monotonic() - began
            tally = campaign.tally
            faults, missed = sum(tally.faults.values()), tally.missed
            said = f"{tally.kills} of {wanted}, {missed} missed, {faults} faults, {seconds:.0f} s"
            print(f"\r{subject.name}: {said}", end="", flush=True)
        print(f", {campaign.tally.left} temporary files left", flush=True)
        print(row(subject.name, campaign.tally), flush=True)
        for fault, count in campaign.tally.faults.items():
            print(f"  {count} x {fault}", flush=True)
        tallies[subject.name] = campaign.tally
    return tallies


def row(name: str, tally: Tally) -> str:
    faults = sum(tally.faults.values())
    cells = (
        name,
        tally.kills,
        tally.real,
        tally.cases,
        tally.again,
        f"{tally.lingered:.1f}",
        faults,
    )
    return f"| {' | '.join(map(str, cells))} |"


def total(tallies: list[Tally]) -> Tally:
    whole = Tally()
    for tally in tallies:
        whole.kills += tally.kills
        whole.real += tally.real
        whole.cases += tally.cases
        whole.again += tally.again
        whole.lingered = max(whole.lingered, tally.lingered)
        whole.faults.update(tally.faults)
    return whole


if __name__ == "__main__":
    main()
