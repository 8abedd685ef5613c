"""Plans in words: by a grammar that needs no model, or by a model that is checked."""
