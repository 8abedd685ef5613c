"""SPARQL as text: what a query asks for, and whether it may be asked."""
