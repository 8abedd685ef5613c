"""Small graphs, servers of SPARQL, and the processes that answer queries."""
