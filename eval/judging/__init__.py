"""A model decides what names and normalisation leave open: branches, answers."""
