"""Documents, relations and scenarios of our own, worded by a grammar or a model."""
