"""The same name or value however it is typed has one key, another one another: pairs by kind."""

import unicodedata
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.normalise import REWRITINGS, normalise, rewritten, tokens

SAME: dict[str, list[tuple[str, str]]] = {
    "thousands": [
        ("1,000", "1000"), ("12,345,678", "12345678"), ("1,00,000", "100000"),
        ("10\u202f000", "10000"), ("10\u00a0000", "10000"), ("10\u2009000 km", "10000 km"),
        ("about 10 000 people", "about 10,000 people"), ("1.000.000", "1000000"),
        ("10'000", "10000"), ("1,000.50", "1000.50"), ("1,000,", "1000"), ("１，０００", "1000"),
        ("١٢٣", "123"), ("1,000 m", "1000m"),
    ],
    "decimal points": [
        ("3.14", "3.14."), ("5", "5."), (".5", "0.5"), ("-.5", "-0.5"),
        ("Version 2.0.1.", "version 2.0.1"), ("a ratio of 3.5, roughly", "a ratio of 3.5 roughly"),
    ],
    "minus signs": [
        *((f"{sign}5", "-5") for sign in "‐‑‒–—−－﹣"), ("(-5)", "-5"), ("**−5**", "-5"),
        ("−5, −7", "-5, -7"), ("-$5", "$-5"), ("−0.5", "-0.5"), ("x = −3", "x = -3"),
        ("UTC−5", "UTC-5"), ("+5", "5"), ("±5", "± 5".replace(" ", "")),
    ],
    "ranges": [
        *((f"1914{dash}1918", "1914-1918") for dash in "‐‑‒–—―−－"), ("1914 – 1918", "1914-1918"),
        ("pp. 5–7", "pp 5-7"), ("10:30–11:30", "10:30 - 11:30"), ("Spider–Man", "Spider-Man"),
        ("1995/96", "1995–96"),
    ],
    "degrees": [
        ("-40 °C", "−40°C"), ("40 ° C", "40°C"), ("40℃", "40 °C"), ("40 ºC", "40°C"),
        ("40 degrees Celsius", "40 °C"), ("40 degrees C", "40 °C"),
        ("98.6 °F", "98.6 degrees Fahrenheit"), ("90°", "90 degrees"),
        ("360-degree", "360-Degree"),
    ],
    "sharps and plusses": [
        ("C♯ minor", "C# minor"), ("C＋＋", "C++"), ("A−", "A-"), ("(AB−)", "AB-"), ("Na⁺", "Na+"),
        ("**A-**", "A−"), ("Sagittarius A*", "sagittarius A*"),
    ],
    "powers and fractions": [
        ("10²", "10^2"), ("10⁻³", "10^-3"), ("10<sup>6</sup>", "10⁶"), ("5 km²", "5km2"),
        ("H₂O", "H2O"), ("½", "1/2"), ("5½", "5 1/2"), ("5-1/2", "5½"), ("⅔", "2/3"),
        ("1ˢᵗ", "1st"), ("№ 5", "No. 5"),
    ],
    "per cent and money": [
        ("5%", "5 %"), ("5 percent", "5%"), ("5 per cent", "5%"), ("$5", "$ 5"), ("$5", "US$5"),
        ("USD 5", "$5"), ("5 dollars", "$5"), ("$5 million", "5 million dollars"), ("€5", "5 €"),
        ("5 euros", "5€"), ("￥100", "¥100"), ("£1,000", "1000 pounds sterling"),
    ],
    "units and years": [
        ("5km", "5 km"), ("10:30am", "10:30 a.m."), ("60mph", "60 mph"), ("44 BC", "44 B.C."),
        ("44 BCE", "44 BC"), ("AD 79", "79 AD"), ("79 CE", "79 AD"), ("4 × 100 m", "4x100m"),
        ("5′10″", "5'10\""), ("5ft", "5 ft."),
    ],
    "dates": [
        ("14 August 2018", "August 14, 2018"), ("14th August 2018", "August 14, 2018"),
        ("the 14th of August 2018", "August 14 2018"), ("Aug. 14, 2018", "14 August 2018"),
        ("Sept 1, 2018", "1 September 2018"), ("2018-08-14", "August 14, 2018"),
        ("2018‑08‑14", "14 August 2018"), ("May 5", "5 May"),
    ],
    "scripts": [
        ("Οδός", "ΟΔΌΣ"), ("Straße", "STRASSE"), ("Be\u0301la", "Béla"), ("か\u3099", "が"),
        ("ｶﾞ", "ガ"), ("कि\u200dताब", "किताब"), ("क\u093c", "\u0958"),
        ("한국", "한국"), ("Ａna", "Ana"),
        ("Ⅷ", "VIII"), ("İzmir", "izmir"), ("❤\ufe0f", "❤"), ("ﬁsh", "fish"),
        ("Ångström", "A\u030angström"), ("Ana\u00a0Silva", "Ana Silva"),
        ("Ana\u200bSilva", "AnaSilva"), ("\ufeffAna", "Ana"), ("co\u00adop", "coop"),
    ],
    "markup": [
        ("**Ana Silva**", "Ana Silva"), ("__Ana Silva__", "Ana Silva"),
        ("`Ana Silva`", "Ana Silva"), ("~~Ana Silva~~", "Ana Silva"), ("- Ana Silva", "Ana Silva"),
        ("* Ana Silva", "Ana Silva"), ("> Ana Silva", "Ana Silva"), ("# Ana Silva", "Ana Silva"),
        ("[Ana Silva](https://example.org/ana)", "Ana Silva"), ("<b>Ana</b> Silva", "Ana Silva"),
        ("Simon &amp; Garfunkel", "Simon & Garfunkel"),
        ("Simon &amp; Garfunkel", "Simon and Garfunkel"), ("O&#39;Brien", "O'Brien"),
        ("“Heat”", '"Heat"'), ("„Heat“", "'Heat'"), ("Wait...", "Wait…"), ("Heat!", "Heat"),
    ],
    "abbreviations": [
        ("The Office", "office"), ("Office, The", "the OFFICE"), ("O’Brien", "O'Brien"),
        ("O'Brien", "OBrien"), ("U.S.", "US"), ("Spider-Man", "Spider Man"),
        ("J. R. R. Tolkien", "J.R.R. Tolkien"), ("Simon & Garfunkel", "Simon and Garfunkel"),
        ("Istanbul", "I\u0307stanbul"), ("Serie A (Brazil)", "Serie A, Brazil"), ("Lego®", "LEGO"),
        ("King  Kong\n(1976 film)", "King Kong 1976 film"), ("St. Louis", "Saint Louis"),
        ("St Andrews", "St. Andrews"), ("Mt. Everest", "Mount Everest"), ("Qurʾan", "Qur'an"),
        ("Hawaiʻi", "Hawai‘i"), ("rock ’n’ roll", "rock 'n' roll"),
        ("Washington, D. C.", "Washington D.C."), ("The Who", "Who"),
        ("Office, The", "The Office"), ("An Ideal Husband", "Ideal Husband"),
    ],
}  # fmt: skip
DIFFERENT: dict[str, list[tuple[str, str]]] = {
    "thousands": [
        ("1,2,3", "123"), ("10,20", "1020"), ("10.000", "10000"), ("1.5", "15"), ("1 2 3", "123"),
        ("Boeing 737 400", "Boeing 737400"), ("5'10\"", "510"),
    ],
    "decimal points": [
        ("3.14", "314"), (".5", "5"), ("3.10", "3.1"), ("1.2.3", "123"), ("-.5", ".5"),
    ],
    "minus signs": [
        *((f"{sign}5", "5") for sign in "-‐‑‒–—−－﹣"), ("(-5)", "(5)"), ("-5, -7", "5, 7"),
        ("-$5", "$5"), ("x = −3", "x = 3"), ("UTC−5", "UTC+5"), ("+", "-"), ("±5", "5"),
    ],
    "ranges": [
        ("1914–1918", "19141918"), ("5–7", "57"), ("2–1", "21"), ("1/2", "1-2"), ("5–7", "-5 -7"),
    ],
    "degrees": [("40 °C", "40 °F"), ("-40 °C", "40 °C"), ("40 °C", "40 C"), ("90°", "90")],
    "sharps and plusses": [
        ("C", "C++"), ("C", "C#"), ("C++", "C#"), ("C♯ minor", "C minor"), ("B♭", "B"),
        ("A", "A-"), ("A", "A+"), ("A+", "A-"), ("O", "O-"), ("Na+", "Na"),
        ("Sagittarius A*", "Sagittarius A"), ("O positive", "O negative"),
    ],
    "powers and fractions": [
        ("10²", "102"), ("10⁻³", "10³"), ("10<sup>2</sup>", "102"), ("5½", "51/2"), ("5½", "5"),
        ("½", "2"), ("⅔", "⅓"), ("1/2", "12"),
    ],
    "per cent and money": [
        ("5%", "5"), ("5%", "50%"), ("$5", "5"), ("$5", "€5"), ("$5 million", "$5"),
        ("5 pounds", "£5"),
    ],
    "units and years": [
        ("5 km", "5 m"), ("44 BC", "44"), ("44 BC", "44 AD"), ("10:30 am", "10:30 pm"),
        ("5 km", "5"), ("4x100", "4100"),
    ],
    "dates": [
        ("14 August 2018", "August 14, 2017"), ("14 August 2018", "4 August 2018"),
        ("2018-08-14", "2018-14-08"), ("August 2018", "August 20"), ("May 5", "May"),
    ],
    "scripts": [
        ("किताब", "कतब"), ("कि", "की"), ("क", "क्"), ("தமிழ்", "தமழ"), ("か", "が"), ("は", "ぱ"),
        ("ハ", "バ"), ("カ", "か"), ("ビル", "ビール"), ("กา", "ก"),
        ("Москва", "Mocквa"), ("การ", "กร"),
        ("বাংলা", "বল"),
    ],
    "abbreviations": [
        ("Main St", "Main Saint"), ("A. Milne", "Milne"), ("Gorkij", "Горький"), ("A", "B"),
        ("A, B", "B"), ("Vitamin A", "Vitamin"), ("The The", "The"), ("Serie A", "Serie"),
        ("!!!", "???"),
    ],
}  # fmt: skip
PAIRS = [
    pytest.param(first, second, equal, id=f"{subject}-{'same' if equal else 'other'}-{number}")
    for equal, table in ((True, SAME), (False, DIFFERENT))
    for subject, pairs in table.items()
    for number, (first, second) in enumerate(pairs)
]


@pytest.mark.parametrize(("first", "second", "equal"), PAIRS)
def test_only_the_same_value_has_the_same_key(first: str, second: str, equal: bool) -> None:
    assert (normalise(first) == normalise(second)) is equal


@pytest.mark.parametrize(
    "text",
    [text for table in (SAME, DIFFERENT) for pairs in table.values() for p in pairs for text in p],
)
def test_a_key_is_its_own_key_in_capitals(text: str) -> None:
    key = normalise(text)
    assert normalise(key.upper()) == normalise(key)


_PIECES = (
    *("1", "12", "000", "1999", "2018", " ", ",", ".", "-", "'", "+", "x", "×", "^", "/", "(", ")"),
    *("january", "jan", "sept", "may", "of", "the", "st", "nd", "th", "%", "per cent", "percent"),
    *("usd", "us", "$", "€", "dollar", "euros", "°", "degrees", "c", "celsius", "k", "n", "km"),
    *("m", "mi", "kg", "pm", "b2", "ad", "bce", "ce", "utc", "gmt", "a"),
)


@given(st.lists(st.sampled_from(_PIECES), max_size=8).map("".join))
def test_what_is_skipped_is_what_no_rewriting_changes(text: str) -> None:
    text = " ".join(text.split())
    changed = text
    for _, rewritings in REWRITINGS:
        for pattern, replacement in rewritings:
            changed = pattern.sub(replacement, changed)
    assert rewritten(text) == changed


def test_articles_stay_where_they_are_asked_for() -> None:
    assert normalise("The Heat", articles=True) == "the heat"
    assert normalise("The Heat") == "heat"


def test_scripts_without_spaces_are_read_by_character() -> None:
    assert tokens("北京 2008") == ["北", "京", "2008"]
    assert tokens("Москва, город") == ["москва", "город"]


@given(st.text())
def test_only_white_space_has_no_key(text: str) -> None:
    visible = [c for c in text if not c.isspace() and c not in "™®©℠\ue000\ue001\ue002"]
    assert bool(normalise(text)) == bool(visible)


@given(st.text())
def test_case_and_outer_space_change_nothing(text: str) -> None:
    assert normalise(f"  {text}\n") == normalise(text)
    assert normalise(normalise(text).upper()) == normalise(normalise(text))


@given(st.text(), st.sampled_from(["NFC", "NFD"]))
def test_canonically_equivalent_texts_have_one_key(text: str, form: Literal["NFC", "NFD"]) -> None:
    assert normalise(unicodedata.normalize(form, text)) == normalise(text)


@given(st.lists(st.sampled_from(["an", "The", "a", "Bo", "Cid", "de", "U", "S", "x"]), min_size=1))
def test_a_full_stop_at_the_end_changes_no_key(words: list[str]) -> None:
    # Plain words take a short way, a text with a full stop the long one.
    assert normalise(" ".join([*words, "Dora"])) == normalise(" ".join([*words, "Dora."]))
