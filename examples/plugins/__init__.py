"""Tools, nodes and metrics to start from: see docs/plugins.md."""
