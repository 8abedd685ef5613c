"""Questions made from plans over a knowledge graph, with answers known to be complete."""
