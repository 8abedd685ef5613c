"""Documents (Markdown, HTML, text) as blocks of text, and how blocks become passages."""
