"""Benchmarks are scripts; what they import from beside them is found here too."""

import sys

from support import ROOT

# At the end: benchmarks/trace.py must not stand before the standard library's.
sys.path.append(str(ROOT / "benchmarks"))
