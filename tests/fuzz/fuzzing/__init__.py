"""Mutated inputs for everything that the product reads, and what must come of them."""
