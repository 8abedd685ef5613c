from difflib import SequenceMatcher
from fractions import Fraction
from functools import cache
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from branchwise.base.normalise import MAX_CHARACTERS
from branchwise.eval.common_text import longest_subsequence, longest_substring
from branchwise.eval.tasks.cambignq.option_scores import (
    INVALID_FORM,
    common_length,
    micro_f1,
    micro_precision,
    micro_recall,
    option_sums,
    published_parse,
    published_sums,
)

texts = st.text("ab c", max_size=7)
sides = st.lists(texts, max_size=6)


def plain_substring(one, other):
    pieces = {one[i:j] for i in range(len(one)) for j in range(i, len(one) + 1)}
    return max((len(piece) for piece in pieces if piece in other), default=0)


@cache
def plain_subsequence(one, other):
    if not one or not other:
        return 0
    if one[0] == other[0]:
        return 1 + plain_subsequence(one[1:], other[1:])
    return max(plain_subsequence(one[1:], other), plain_subsequence(one, other[1:]))


@given(texts, texts)
def test_common_texts_are_as_long_as_a_plain_search_finds(one, other):
    assert longest_substring(one, other) == plain_substring(one, other)
    assert longest_subsequence(one, other) == plain_subsequence(one, other)
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    assert longest_substring(one, other) == matcher.find_longest_match().size


def test_long_texts_are_compared_to_a_bound():
    assert common_length("a" * 10_000, "a" * 10_000) == MAX_CHARACTERS
    assert common_length("ab" * 5_000, "ba" * 5_000, "subsequence") == MAX_CHARACTERS - 1


@pytest.mark.parametrize(
    ("predicted", "gold", "sums"),
    [
        # "the film" is in "the 2002 film" as " film" (5 of 8, 5 of 13); "book" is whole.
        (
            ["the film", "book"],
            [["the 2002 film"], ["book"]],
            (5 / 8 + 1, 2, 5 / 13 + 1, 2, 18 / 13),
        ),
        # One too many: of "abx" 2 of 3 are "ab", of "ab" all.
        (["ab", "abx"], [["ab"]], (1, 2, 1, 1, 1)),
        (["ab"], [["ab"], ["cd"]], (1, 1, 1, 2, 1)),
        # All of "a" is in "abc", and 3 of 4 of "abcd", though this has more of "abc".
        (["a", "abcd"], [["abc"]], (1, 2, 1 / 3, 1, 1 / 3)),
        # "a" is whole in both, half of one and a third of the other.
        (["a"], [["ab"], ["abc"]], (1, 1, 1 / 2, 2, 1 / 3)),
        # Forms: "NYC" makes recall greatest (3 of 3), as it does precision (3 of 7).
        (["NYC bay"], [["New York", "NYC"]], (3 / 7, 1, 1, 1, 1)),
        # "abcd efg" shares 4 of 7 with "abcdxyz", which precision is by; "e" is whole, for recall.
        (["abcd efg"], [["abcdxyz", "e"]], (4 / 8, 1, 1, 1, 1)),
        (["a"], [], (0, 1, 0, 0, 0)),
        ([], [["a"]], (0, 0, 0, 1, 0)),
        ([""], [["a"]], (0, 1, 0, 1, 0)),
    ],
)
def test_sums_are_those_worked_out_by_hand(predicted, gold, sums):
    assert option_sums(predicted, gold) == pytest.approx(sums)


def test_a_subsequence_may_have_gaps():
    sums = option_sums(["the film"], [["the 2002 film"]], "subsequence")
    assert sums == (1, 1, 8 / 13, 1, 8 / 13)


def test_scores_are_of_sums_over_all_questions():
    first = option_sums(["ab"], [["ab"], ["cd"]])
    second = option_sums(["abx", "q", "r"], [["ab"]])
    both = [sum(pair) for pair in zip(first, second, strict=True)]
    precision, recall = (1 + 2 / 3) / 4, 2 / 3
    assert micro_precision(both[0], both[1]) == pytest.approx(precision)
    assert micro_recall(both[2], both[3]) == pytest.approx(recall)
    assert micro_f1(*both[:4]) == pytest.approx(2 * precision * recall / (precision + recall))


def test_undefined_scores_are_none_and_one_side_alone_is_zero():
    assert micro_precision(0, 0) is None
    assert micro_recall(0, 0) is None
    assert micro_f1(0, 0, 0, 0) is None
    assert micro_f1(0, 0, 0, 3) == micro_f1(0, 3, 0, 0) == micro_f1(0, 1, 0, 1) == 0


def pairings(rows, columns):
    if rows > columns:
        return [[(i, j) for j, i in pairs] for pairs in pairings(columns, rows)]
    return [list(enumerate(chosen)) for chosen in permutations(range(columns), rows)]


forms = st.lists(texts, min_size=1, max_size=2)


@given(sides, st.lists(forms, max_size=4), st.sampled_from(["substring", "subsequence"]))
def test_sums_are_those_of_the_best_of_all_mappings(predicted, gold, common):
    """Every mapping is tried, with exact fractions of lengths that a plain search finds."""
    length = plain_substring if common == "substring" else plain_subsequence

    def similar(one, other, whole):
        return Fraction(length(one, other), len(whole)) if whole else Fraction(0)

    def total(pairs):
        precision = sum(
            max(similar(predicted[p], r, predicted[p]) for r in gold[g]) for p, g in pairs
        )
        recall = sum(max(similar(predicted[p], r, r) for r in gold[g]) for p, g in pairs)
        return precision, recall

    totals = [total(pairs) for pairs in pairings(len(predicted), len(gold))]
    precision, recall = max(totals)
    lowest = min(recall for one, recall in totals if one == precision)
    sums = option_sums(predicted, gold, common)
    expected = (precision, len(predicted), recall, len(gold), lowest)
    assert sums == pytest.approx([float(value) for value in expected])


@given(sides, st.lists(forms, max_size=4), st.randoms(use_true_random=False))
def test_the_order_of_options_and_forms_changes_nothing(predicted, gold, random):
    shuffled = [random.sample(one, len(one)) for one in random.sample(gold, len(gold))]
    found = option_sums(random.sample(predicted, len(predicted)), shuffled)
    assert found == option_sums(predicted, gold)


@pytest.mark.slow
@given(sides, sides.map(lambda side: [[text, text[:2]] for text in side]))
def test_the_published_sums_are_difflibs_with_a_mapping_for_each(predicted, gold):
    def shares(p, forms):
        sizes = [SequenceMatcher(None, form, p).find_longest_match().size for form in forms]
        size, form = max(sizes), forms[sizes.index(max(sizes))]
        return (size / len(p), size / len(form)) if size else (0, 0)

    def greatest(which):
        return max(
            sum(shares(predicted[i], gold[j])[which] for i, j in pairs)
            for pairs in pairings(len(predicted), len(gold))
        )

    sums = published_sums(predicted, gold)
    assert sums[1:4:2] == (max(len(predicted), 1), max(len(gold), 1))
    if predicted and gold:
        assert sums[0:4:2] == pytest.approx((greatest(0), greatest(1)))


def test_where_the_published_code_departs():
    assert published_sums([], []) == (1, 1, 1, 1, None)
    assert published_sums(["a"], []) == (0, 1, 0, 1, None)
    assert published_sums([], [["a"], ["b"]]) == (0, 1, 0, 2, None)
    # For precision "ab" has the partner "abcd" (2 of 2), for recall "abcdefgh" has it (4 of 4);
    # the one mapping of the paper is the former.
    predicted, gold = ["ab", "abcdefgh"], [["abcd"], ["z"]]
    assert published_sums(predicted, gold) == (1, 2, 1, 2, None)
    assert option_sums(predicted, gold) == (1, 2, 2 / 4, 2, 2 / 4)
    # Frequent letters are no part of a match from 200 characters of the prediction on.
    long = "ab" * 100
    assert published_sums([long], [[f"c{long}"]]).precision == 0
    assert published_sums([long[1:]], [[f"c{long}"]]).precision == 1
    assert option_sums([long], [[f"c{long}"]]).precision == 1


@pytest.mark.parametrize(
    ("text", "category", "options"),
    [
        ("Which one: A, B, or C?", "Which one", ("A", "B", "C")),
        ("Which one: A or B?", "Which one", ("A or B",)),
        ("Which city: Paris, Texas?", "Which city", ("Paris", "Texas")),
        ("Which one, A or B?", INVALID_FORM, (INVALID_FORM,)),
        ("Which one: the orchard, orange?", "Which one", ("the orchard", "ange")),
        ("Which one: a: b?", "Which one", ("a: b",)),
    ],
)
def test_the_published_parser(text, category, options):
    assert published_parse(text) == (category, options)
