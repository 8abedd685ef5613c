"""From names to things: an index of labels and aliases beside the triples."""
