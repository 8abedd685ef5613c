"""Oxigraph's opinion of a text, without running it."""


def objection(text: str) -> str:
    """What Oxigraph's parser says against a query; "" where it has nothing to say.

    The query is not evaluated: `Store.query` evaluates what it can at once, and would ask a server
    for a SERVICE clause even on an empty store, so it is given options that it refuses, which it
    looks at after parsing.
    """
    import pyoxigraph

    refused = pyoxigraph.DefaultGraph()
    try:
        pyoxigraph.Store().query(text, use_default_graph_as_union=True, default_graph=refused)
    except SyntaxError as error:
        return str(error) or "it does not parse"
    except ValueError:
        return ""
    raise RuntimeError("pyoxigraph ran a query that it was only to parse")
