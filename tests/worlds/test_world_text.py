"""How a world's passages read, as far as patterns can tell."""

import logging
import re
from statistics import median

import pytest

from support.worlds.contradictions import DATE, NUMBER, most_repeated, repeated_share

SLIPS = {
    "left over from a template": r"[{}\[\]|<>@#_\\]",
    "space or mark out of place": r"  | [,.;:!?)]|\( |,,|\.\.|,\.|;\.|\(\)",
    "the same word twice": r"\b(the|a|an|of|in|and|to|is|was|that|film|by) \1\b",
    "a before a vowel": r"\b[Aa] (?!uni|eu|one\b|use|usu|ut)[aeiou]\w*",
    "an before a consonant": r"\b[Aa]n (?![aeiouAEIOUÀ-ÖØ-öø-ÿ]|hour|honou?r|heir|8|11|18)\w+",
    "a pronoun where it cannot stand": (
        r"\b(?:(?:put|puts|brought|brings) out|(?:take|takes|took|taking) in) (?:it|him|her|them)\b"
        r"|\bon the books of (?:it|him|her|them)\b"
    ),
    "a comma before a bracket": r", \(",
    "an award that was made in a country": r"\baward made in\b",
    "a word that does not fit the next": (
        r"\bover (?:close touch|a hurry)\b"
        r"|\bput down (?:her|his) (?:success|early start|good name)\b"
        r"|\bcut cut\b|\bdiscussed, which\b|\bthe work of (?:him|her)\b"
    ),
    "a pronoun for the wrong thing": r"\bput up with (?:him|her)\b",
    "a possessive without its noun": (
        r"\b(?:is|are|was|were) (?:her|his|its) "
        r"(?:by|without|as|in|of|to|with|and|or|on|at|for|from|that|which)\b"
    ),
    "a preposition without its object": r"\b(?:went|came|fell|given|awarded) (?:to|by) as\b",
    "one with a verb for several": (
        r"\bwork as an? (?:record )?\w+ include\b|\bline-up of [^.,]* include\b"
    ),
    "several with a verb for one": (
        r"\b(?:compositions|credits|albums|songs|novels|films|awards|honours|members|players|prices)"
        r" (?:includes|has|is|was|takes|remains)\b"
    ),
    "a noun and its own verb": (
        r"(?i)\b(?:lists? list|records? record|award was award|awarded the award\b)"
    ),
    "a participle too many": r"\bawarded (?:given|received|won)\b",
    "a time in the middle of its clause": (
        r"\b(?:in|since) \d{4} (?:is|are|was|were|has|have|had|won|received|play|make)\b"
        r"|\bfrom \d{4} to \d{4} (?!and\b)\w"
    ),
    "a past time in the perfect": (
        r"\bhas (?:honoured|been (?:awarded|given) to|been won by) [^.;,]* in \d{4}\b"
    ),
    "beginning": r"\A(?![A-ZÀ-ÞŠŽČ\d])",
    "end": r"[^.!?\"')]\Z|[^.!?][\"')]\Z",
}


@pytest.mark.parametrize("slip", SLIPS)
def test_passages_are_free_of_slips(any_world, slip):
    pattern = re.compile(SLIPS[slip])
    found = [
        passage.text[max(0, match.start() - 60) : match.end() + 30]
        for passage in any_world.passages
        for match in pattern.finditer(passage.text)
    ]
    assert found == []


def test_passages_are_about_100_words_long(any_world):
    words = [len(passage.text.split()) for passage in any_world.passages]
    assert 80 <= median(words) <= 120
    outside = [p.text for p, n in zip(any_world.passages, words, strict=True) if not 30 <= n <= 180]
    assert outside == []


def test_few_sentences_repeat(world):
    share = repeated_share(world)
    numbers = re.compile(f"{DATE.pattern}|{NUMBER.pattern}")
    also = repeated_share(world, numbers)
    shares = "repeated sentences: %.2f%% with names masked, %.2f%% with dates and numbers too"
    logging.info(shares, 100 * share, 100 * also)
    assert share < 0.02, most_repeated(world)
