"""The sections of the HTML report, as Jinja2 templates."""
