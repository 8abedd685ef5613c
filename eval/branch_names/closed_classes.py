"""Closed classes of English words: those that stand for one another, and those that say nothing.

Only classes that a list can hold whole: numbers, countries and their adjectives, what divides time,
question words. Other synonyms ("movie theatre", "cinema") are left to a model. Words are keys of
`normalise`: lower case, without full stops.
"""

_UNITS = (
    *("one first", "two second twice", "three third", "four fourth", "five fifth", "six sixth"),
    *("seven seventh", "eight eighth", "nine ninth", "ten tenth", "eleven eleventh"),
    *("twelve twelfth", "thirteen thirteenth", "fourteen fourteenth", "fifteen fifteenth"),
    *("sixteen sixteenth", "seventeen seventeenth", "eighteen eighteenth"),
    "nineteen nineteenth",
)
_TENS = (
    *("twenty twentieth", "thirty thirtieth", "forty fortieth", "fifty fiftieth"),
    *("sixty sixtieth", "seventy seventieth", "eighty eightieth", "ninety ninetieth"),
)
_ROMAN = ("ii iii iv - vi vii viii ix - xi xii xiii xiv xv", "xvi xvii xviii xix xx")

NUMBER_WORDS = {word: n for n, words in enumerate(_UNITS, 1) for word in words.split()}
"""Cardinals and ordinals below twenty."""

TENS = {word: 10 * n for n, words in enumerate(_TENS, 2) for word in words.split()}

ROMAN_NUMERALS = {word: n for n, word in enumerate(" ".join(_ROMAN).split(), 2) if word != "-"}
"""Those of several letters, 2 to 20."""

ROMAN_LETTERS = {"i": 1, "v": 5, "x": 10}
"""Numerals only beside longer ones: "I Can Only Imagine" has none."""

_COUNTRIES = """
    us: usa america american americans
    uk: britain british
    argentina: argentine argentinian
    australia: australian
    austria: austrian
    belgium: belgian
    brazil: brazilian
    canada: canadian
    chile: chilean
    china: chinese
    colombia: colombian
    croatia: croatian
    cuba: cuban
    denmark: danish
    egypt: egyptian
    finland: finnish
    france: french
    germany: german
    greece: greek
    hungary: hungarian
    iceland: icelandic
    india: indian
    indonesia: indonesian
    iran: iranian
    iraq: iraqi
    ireland: irish
    israel: israeli
    italy: italian
    jamaica: jamaican
    japan: japanese
    kenya: kenyan
    korea: korean
    malaysia: malaysian
    mexico: mexican
    netherlands: dutch
    newzealand: newzealander
    nigeria: nigerian
    norway: norwegian
    pakistan: pakistani
    peru: peruvian
    philippines: philippine filipino
    poland: polish
    portugal: portuguese
    romania: romanian
    russia: russian
    serbia: serbian
    singapore: singaporean
    spain: spanish
    sweden: swedish
    switzerland: swiss
    taiwan: taiwanese
    thailand: thai
    turkey: turkish
    ukraine: ukrainian
    venezuela: venezuelan
    vietnam: vietnamese
"""
# Within or around countries, so that one never contradicts another.
_REGIONS = """
    africa: african
    asia: asian
    england: english
    europe: european
    northamerica: northamerican
    scotland: scottish
    southamerica: southamerican
    latinamerica: latinamerican
    wales: welsh
"""
_JOINED = {
    ("united", "states"): "us",
    ("united", "kingdom"): "uk",
    ("great", "britain"): "uk",
    ("new", "zealand"): "newzealand",
    ("new", "zealander"): "newzealand",
    **{
        (side, name): f"{side}america"
        for side in ("north", "south", "latin")
        for name in ("america", "american")
    },
}


def _adjectives(table: str) -> dict[str, str]:
    rows = (line.split(":") for line in table.split("\n") if line.strip())
    return {form: name.strip() for name, forms in rows for form in forms.split()}


COUNTRIES = frozenset(_adjectives(_COUNTRIES).values())
PAIRS = _JOINED
"""Two words that are one."""

BEFORE, SINCE = "before", "since"
SAME_WORDS = {
    **_adjectives(_COUNTRIES),
    **_adjectives(_REGIONS),
    **dict.fromkeys(("prior", "until", "till"), BEFORE),
    **dict.fromkeys(("after", "onward", "onwards"), SINCE),
}
"""A word to the one that stands for its class."""

_FUNCTION_WORDS = """
    a an the this that these those it its itself their they his he her she him
    who whom whose what which when where why how many much long
    is are was were be been being am do does did doing has have had having can could will would
    of in on at by for to from with as into onto during and or
"""
FUNCTION_WORDS_OF_KEYS = frozenset(_FUNCTION_WORDS.split())
"""Question words, auxiliaries, articles, pronouns, and prepositions that do not divide time."""
