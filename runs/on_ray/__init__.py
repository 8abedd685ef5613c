"""Ray answers the items of a pass: `run --on ray`, `ablate --on ray://HOST:PORT`.

Start with `pool.py`, the engine; `worker.py` is its other end.
"""
