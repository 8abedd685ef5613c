"""Several systems over the same questions, from one file."""
