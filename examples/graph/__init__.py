"""A system as one LangGraph graph, for LangGraph's own tools."""
