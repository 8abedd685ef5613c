"""Knowledge graphs: stored here or behind an endpoint, queried with SPARQL, searched by name."""
