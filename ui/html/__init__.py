"""The HTML report: a study report as one file that needs nothing else."""
