"""The trace app: runs, their questions and every step of an agent, in the terminal (Textual)."""
