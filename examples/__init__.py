"""Example corpora and question sets that ship with the package."""
