"""What is here, for programs elsewhere: the corpus over HTTP, the tools for any MCP client."""
