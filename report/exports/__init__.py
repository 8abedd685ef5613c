"""The tables of a report as files: Markdown, CSV, LaTeX."""
