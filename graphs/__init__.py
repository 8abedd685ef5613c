"""How a question flows: the LangGraph state, nodes and builders."""
