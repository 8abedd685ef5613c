"""What happened and how good it was: runner, run store, alignment, scores."""
