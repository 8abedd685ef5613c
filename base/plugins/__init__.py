"""Plug-ins of every kind (tools, nodes, retrievers, metrics): named, found, imported, called.

Here and not in `tools`, because a retriever is also a plug-in, and imports go one way.
"""
