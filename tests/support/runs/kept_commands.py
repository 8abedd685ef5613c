"""What is asked of the runs and study of tests/kept, by the name of what was said."""

QUESTIONS = 9
RUNS = ("none", "both", "nodes")
FORKS = ("fork-1", "fork-4")
WIDTH = "120"
COMMANDS = {
    "both-trace-q3": ("trace", "both", "--print", "--question", "q3"),
    "report-json": ("report", *RUNS, "--json"),
    "study": ("report", "study", "--markdown", "-"),
}
