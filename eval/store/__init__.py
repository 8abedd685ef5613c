"""The run store: one SQLite file that a killed run continues from."""
