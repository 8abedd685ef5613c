"""Tools of MCP servers as an agent's own: started or found, listed, called, closed."""
