"""Question sets from files of several formats."""
