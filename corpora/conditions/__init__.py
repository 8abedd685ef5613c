"""Documents whose requirements are conditions, and what follows from them for a scenario."""
