"""What is asked of the runs, forks and study of tests/kept, by the name of what was said."""

QUESTIONS = 9
RUNS = ("none", "both", "nodes")
FORKS = ("fork-1", "fork-4")
WIDTH = "120"
OF_A_RUN = {
    "scores": ("score", "{}", "--json"),
    "table": ("score", "{}", "--full"),
    "verify": ("verify", "{}", "--json"),
    "errors": ("errors", "{}", "--json"),
    "export": ("export", "{}", "--events"),
}
COMMANDS = {
    **{
        f"{run}-{name}": tuple(word.format(run) for word in command)
        for run in (*RUNS, *FORKS)
        for name, command in OF_A_RUN.items()
    },
    **{
        f"{run}-trace-q{n}": ("trace", run, "--print", "--question", f"q{n}")
        for run in RUNS
        for n in range(QUESTIONS)
    },
    "compared": ("trace", "none", "both", "--print", "--question", "q0"),
    "report": ("report", *RUNS, "--markdown", "-"),
    "latex": ("report", *RUNS, "--latex", "-"),
    "report-json": ("report", *RUNS, "--json"),
    "study": ("report", "study", "--markdown", "-"),
    "study-json": ("report", "study", "--json"),
}
