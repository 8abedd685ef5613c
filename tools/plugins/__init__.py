"""Tools as plug-ins: the decorator, its schema, what is injected, what may be returned.

How a plug-in of any kind is named, imported and called is in `corpora/plugins`.
"""
