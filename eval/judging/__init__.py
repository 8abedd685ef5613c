"""Where a model settles what names and normalisation do not: branches, answers."""
