"""FanOutQA's loose accuracy (Zhu et al. 2024, section 4): gold strings found in a written answer.

Texts are compared in lower case, without thousands commas, the signs , . ? ! : ; and further white
space; a gold string is found where its words stand together. The published code also lemmatises
each text on its own, so that "Left" (leave) is not found in "left - right", and sets a word
boundary before every string, so that none that begins with a sign ("$5 billion") is ever found.
Neither is done here (docs/benchmarks/fanoutqa.md says what that changes).
"""

import re
import unicodedata
from collections.abc import Sequence

_THOUSANDS = re.compile(r"(?<=\d),(?=\d)")
_SIGNS = str.maketrans("", "", ",.?!:;") | str.maketrans("‘’ʼ“”", "'''\"\"")


def found_strings(gold: Sequence[Sequence[str]], written: str) -> int:
    """How many of the gold strings, each in any of its forms, stand in the written answer."""
    text = loose(written)
    return sum(any(_stands_in(loose(form), text) for form in forms) for forms in gold)


def loose(text: str) -> str:
    """A text as it is compared."""
    folded = unicodedata.normalize("NFC", text).lower()
    return " ".join(_THOUSANDS.sub("", folded).translate(_SIGNS).split())


def _stands_in(words: str, text: str) -> bool:
    # A plain search first: most strings that are not there are nowhere at all.
    if not words or words not in text:
        return False
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None
