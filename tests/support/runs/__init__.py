"""Scripts and studies for whole runs."""
