"""Prompts, one file each; `--prompts DIR` replaces any of them."""
