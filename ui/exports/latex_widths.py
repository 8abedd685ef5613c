"""How wide text is in LaTeX, so that a table can be made to fit before it is set.

Computer Modern's widths (cmr10's metrics), which are those of few other fonts and more than those
of most: Times is narrower in every class of letters.
"""

_WIDTHS = {
    0.28: "iIl.,:;'[]|!",
    0.34: " -_jf",
    0.40: 'rst()"',
    0.46: "cez",
    0.51: "0123456789agoq/\\$?–{}^~`…*",
    0.56: "bdhknpuvxyEFLPSZ§",
    0.71: "ABCDGHJKNOQRTUVXYw",
    0.84: "m%#@&+−±=<>×",
    1.04: "MW",
}
_OF = {letter: width for width, letters in _WIDTHS.items() for letter in letters}
_OTHERS = 1.0
"""Of a letter that is not listed, in ems: no wider one is usual."""
_SMALL = {8.0: 1.065, 7.0: 1.14, 6.0: 1.23}
"""Computer Modern is wider in small sizes: by how much, at a size in points."""


def text_width(text: str, size: float) -> float:
    """The width of a line in points, set in a font of `size` points; never much less than it is."""
    return size * _SMALL[size] * sum(_OF.get(letter, _OTHERS) for letter in text)
