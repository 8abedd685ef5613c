"""FlashRAG's processes, and what stands in for them."""
