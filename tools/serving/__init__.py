"""Serving other programs: the corpus over HTTP, the tools for any MCP client."""
