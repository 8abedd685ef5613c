"""What words have in common with their forms: "owned", "owner" and "owns" are one word."""

from functools import lru_cache

# Forms that no ending explains, of verbs and of adjectives that measure; the first is the word.
_IRREGULAR = """
act actor actress acting
age old aged
award awarding
bear born birth
become became
begin began begun
bring brought
build built
buy bought
choose chose chosen choice
come came
depth deep
die died death dead deceased
draw drew drawn
drive drove driven
fall fell fallen
find finds
found founded founder founding foundation
fly flew flown
give gave given
go went gone
grow grew grown
height high tall
hold held
keep kept
know knew known
lead led
leave left
length long
lie lay lain lies
live life alive lived living
lose lost loss loses
make made maker
marry married marriage
meet met
publish publication
ride rode ridden
run ran
sell sold sale
sing sang sung singer
speak spoke spoken speech
speed fast
spend spent
succeed success successor
take took taken
teach taught
tell told
weight heavy weigh
width wide
win won winner
write wrote written
"""
_LEMMAS = {
    form: line.split()[0] for line in _IRREGULAR.strip().splitlines() for form in line.split()
}
_FORMS = {line.split()[0]: tuple(line.split()) for line in _IRREGULAR.strip().splitlines()}
_ENDINGS = ("ation", "ition", "ment", "ion", "ist", "ee", "er", "or", "at", "it")
_SHORTEST = 3  # letters of a root: fewer say too little
_DOUBLED = frozenset("bdgmnprt")  # before an ending: "run", "runner"


def other_forms(word: str) -> tuple[str, ...]:
    """Forms of a word that do not begin as its root does: "wrote" for "writer"."""
    lemma = _LEMMAS.get(word)
    return _FORMS[lemma] if lemma else ()


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """Its stem by Snowball, one object a call: they are not safe between threads."""
    import Stemmer

    stemmed: str = Stemmer.Stemmer("english").stemWord(word)
    return stemmed


@lru_cache(maxsize=8_192)
def root(word: str) -> str:
    """What the forms of a folded word share, which need not be a word: "composer" is "compos".

    By Snowball's English stemmer, the endings of those who act and of actions, and a list.
    """
    known = _LEMMAS.get(word)
    bare = known or stem(word)
    for ending in () if known else _ENDINGS:
        if bare.endswith(ending) and len(bare) - len(ending) >= _SHORTEST:
            bare = bare.removesuffix(ending)
            break
    if len(bare) > _SHORTEST and bare[-1] == bare[-2] and bare[-1] in _DOUBLED:
        bare = bare[:-1]
    bare = bare[:-1] if len(bare) > _SHORTEST and bare.endswith("e") else bare
    return bare
