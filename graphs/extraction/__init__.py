"""Evidence extraction: of retrieved passages the agent sees what a model copied out of them."""
