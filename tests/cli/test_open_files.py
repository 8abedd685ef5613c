"""Many questions at a time need many connections."""

import resource
from collections.abc import Iterator

import pytest

from branchwise.commands.running import allow_open_files


@pytest.fixture
def few_files() -> Iterator[int]:
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, most))
    yield most
    resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


def test_the_limit_of_open_files_rises_with_the_questions_at_a_time(few_files: int) -> None:
    allow_open_files(8)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (200, few_files)
    allow_open_files(512)
    soft, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert soft >= 1024 or soft == most
    assert most == few_files
