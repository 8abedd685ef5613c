"""What no plug-in's text may carry further: it goes to models, into traces and onto screens."""

import os

KEY_VARIABLE = "OPENAI_API_KEY"
_SHORTEST = 4  # what is shorter is a stand-in for servers that want any key, and part of words


def without_key(text: str) -> str:
    """The text with the model's key struck out wherever it stands."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    return text.replace(key, "***") if len(key) >= _SHORTEST else text
