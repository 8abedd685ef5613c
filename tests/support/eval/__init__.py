"""Items, questions, traces and studies to score, written in short."""
