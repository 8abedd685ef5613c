"""FlashRAG's retrievers and indexes: read here, and its own code run behind our protocol."""
