"""What nodes of one's own import; `graphs/plugin_nodes.py` declares and calls them."""
