"""Metrics as plug-ins: declared, loaded, and called for every item that is scored."""
