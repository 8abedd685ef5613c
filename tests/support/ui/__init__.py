"""Reports and runs to be shown, and readers of what is shown."""
