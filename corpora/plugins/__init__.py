"""Plug-ins of every kind (tools, nodes, retrievers, metrics): named, found, imported, called.

Here and not in `tools`, since a retriever is a plug-in, too, and imports go one way.
"""
