"""How much of the machine is this process's to use."""

import os


def usable_cores() -> int:
    """Cores that this process may run on: fewer than the machine has in a Slurm job, under
    `taskset`, in a container with a set of its own."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
