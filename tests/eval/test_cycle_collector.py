import gc

import pytest

from branchwise.eval.cycle_collector import without_cycle_search


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
