"""How many cores a process may use."""

import os
import subprocess
import sys

import pytest

from branchwise.corpora.cores import usable_cores


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs Linux")
def test_cores_that_the_process_may_not_use_do_not_count() -> None:
    code = (
        "import os\nfrom branchwise.corpora.cores import usable_cores\n"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\nprint(usable_cores())"
    )
    assert subprocess.check_output([sys.executable, "-c", code]) == b"1\n"


def test_without_an_affinity_all_of_the_machine_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    assert usable_cores() == 5
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1
