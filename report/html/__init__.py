"""The HTML report: a study report as one self-contained file."""
