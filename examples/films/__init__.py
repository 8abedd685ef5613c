"""A small real-world corpus and question set about films that share names."""
