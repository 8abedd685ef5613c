"""What is shown of runs and traces, for every way of showing it: app, plain text, Markdown."""
