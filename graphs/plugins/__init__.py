"""Steps of the graph that users write: see `declared.node`."""
