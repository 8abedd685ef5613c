"""How the HTML report looks."""
