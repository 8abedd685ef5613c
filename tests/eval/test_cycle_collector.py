import gc
from collections.abc import Iterator

import pytest

from branchwise.base.process import rare_cycle_search, without_cycle_search


@without_cycle_search()
def fail() -> None:
    raise ValueError(gc.isenabled())


def test_the_search_goes_on_after_an_error() -> None:
    assert gc.isenabled()
    with pytest.raises(ValueError, match="False"):
        fail()
    assert gc.isenabled()


def test_who_had_it_off_keeps_it_off() -> None:
    gc.disable()
    try:
        with without_cycle_search():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_each_call_of_a_decorated_function_is_without_it() -> None:
    searching = without_cycle_search()(gc.isenabled)
    assert [searching(), searching()] == [False, False]
    assert gc.isenabled()


@pytest.fixture
def threshold() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("threshold")
def test_the_search_is_rare_until_the_first_of_several_is_done() -> None:
    gc.set_threshold(700, 11, 12)
    outer, inner = rare_cycle_search(), rare_cycle_search()
    with outer:
        assert gc.get_threshold() == (10_000, 11, 12)
        with inner:
            pass
        assert gc.get_threshold() == (10_000, 11, 12)
    assert gc.get_threshold() == (700, 11, 12)


@pytest.mark.usefixtures("threshold")
@pytest.mark.parametrize("own", [0, 50_000])
def test_who_had_it_rarer_or_off_keeps_it_so(own: int) -> None:
    gc.set_threshold(own, 11, 12)
    with rare_cycle_search():
        assert gc.get_threshold() == (own, 11, 12)
    assert gc.get_threshold() == (own, 11, 12)
