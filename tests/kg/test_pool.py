"""Query processes: stopped at their deadline, replaced, confined, and gone when they should be."""

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from branchwise.kg.answers import KgError
from branchwise.kg.processes import pool as pool_module
from branchwise.kg.processes.pool import Pool
from branchwise.kg.sparql.prepare import prepare
from support.kg.processes import (
    COUNTRIES,
    ENDLESS,
    keepers,
    open_files,
    query_processes,
    resident_bytes,
    wait_until_busy,
    wait_until_gone,
    wait_until_none,
)

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc"),
    pytest.mark.usefixtures("process"),
]
LONG = 30.0


@contextmanager
def opened(folder: Path | None, **settings: Any) -> Iterator[tuple[Pool, int]]:
    """A pool and its keeper's number; gone afterwards."""
    pool = Pool(folder, **settings)
    try:
        yield pool, pool._keeper._process.pid
    finally:
        pool.close()


def rows_of(pool: Pool, sparql: str, seconds: float = LONG) -> list[Any]:
    return list(pool.query(sparql, seconds).rows)


def failure_of(pool: Pool, sparql: str, seconds: float = LONG) -> KgError:
    with pytest.raises(KgError) as caught:
        pool.query(sparql, seconds)
    return caught.value


@pytest.mark.long
def test_fifty_runaway_queries_are_stopped_beside_eight_askers(built_kg: Path) -> None:
    with opened(built_kg, workers=6) as (pool, keeper):
        expected = rows_of(pool, COUNTRIES)
        files, memory = open_files(), resident_bytes()
        done = threading.Event()

        def ask() -> int:
            answers = 0
            while not done.is_set():
                assert rows_of(pool, COUNTRIES) == expected
                answers += 1
            return answers

        def run_away() -> list[str]:
            return [failure_of(pool, ENDLESS, 0.3).kind for _ in range(10)]

        with ThreadPoolExecutor(13) as threads:
            askers = [threads.submit(ask) for _ in range(8)]
            runaways = [threads.submit(run_away) for _ in range(5)]
            try:
                kinds = [kind for runaway in runaways for kind in runaway.result()]
            finally:
                done.set()
            answers = [asker.result() for asker in askers]
        assert kinds == ["timeout"] * 50 or set(kinds) <= {"timeout", "busy"}
        assert kinds.count("timeout") >= 25
        assert min(answers) > 0
        children = query_processes(keeper)
        assert len(children) <= 6
        assert all(child.state != "Z" for child in children)
        gc.collect()
        assert open_files() <= files + 5
        assert resident_bytes() - memory < 30 * 2**20


@pytest.mark.long
def test_fifty_runaway_queries_in_a_row_leave_nothing_behind(built_kg: Path) -> None:
    files = open_files()
    with opened(built_kg, workers=1) as (pool, keeper):
        for _ in range(50):
            assert failure_of(pool, ENDLESS, 0.05).kind == "timeout"
            wait_until_none(keeper)
        assert len(rows_of(pool, COUNTRIES)) == 2
    assert open_files() == files


@pytest.mark.parametrize(
    "sparql",
    [
        "SELECT (COUNT(*) AS ?n) WHERE { ?a (<x:a>|!<x:a>)* ?b . ?c (<x:a>|!<x:a>)* ?d }",
        'ASK { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(CONCAT(STR(?c), STR(?f), STR(?i)) = "x") }',
        "SELECT * WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i "
        'FILTER REGEX(CONCAT(STR(?c), STR(?f), STR(?i)), "^(a|b|ab)*(x+x+)+y$") }',
    ],
    ids=["property path", "ask", "regular expression"],
)
def test_what_never_ends_is_stopped(built_kg: Path, sparql: str) -> None:
    with opened(built_kg, workers=1) as (pool, _):
        error = failure_of(pool, sparql, 0.3)
        assert error.kind == "timeout"
        assert "stopped after 0.3 s" in str(error)
        assert "LIMIT" in str(error)
        assert len(rows_of(pool, COUNTRIES)) == 2


@pytest.mark.long
@pytest.mark.parametrize(
    "sparql",
    [
        'SELECT (GROUP_CONCAT(STR(?c); separator="; ") AS ?all) WHERE { ?a ?b ?c . ?d ?e ?f }',
        "SELECT * WHERE { ?a ?b ?c . ?d ?e ?f } ORDER BY ?c ?f",
        "SELECT DISTINCT ?a ?d WHERE { ?a ?b ?c . ?d ?e ?f } ORDER BY ?d",
    ],
    ids=["group_concat", "order", "distinct"],
)
@pytest.mark.parametrize("in_memory", [0, 500_000], ids=["disk", "memory"])
def test_a_memory_bomb_ends_its_own_process_only(built_kg, sparql, in_memory):
    with opened(built_kg, workers=1, memory=48 * 2**20, in_memory=in_memory) as (pool, _):
        error = failure_of(pool, sparql)
        assert error.kind == "resources"
        assert "memory" in str(error)
        assert len(rows_of(pool, COUNTRIES)) == 2


def test_a_process_killed_from_outside_is_an_error_and_replaced(built_kg: Path) -> None:
    with opened(built_kg, workers=1) as (pool, keeper), ThreadPoolExecutor(1) as thread:
        rows_of(pool, COUNTRIES)
        running = thread.submit(failure_of, pool, ENDLESS)
        os.kill(wait_until_busy(keeper).pid, signal.SIGKILL)
        assert running.result().kind == "resources"
        assert len(rows_of(pool, COUNTRIES)) == 2


def test_a_process_killed_while_idle_is_not_noticed(built_kg: Path) -> None:
    with opened(built_kg, workers=1) as (pool, keeper):
        assert len(rows_of(pool, COUNTRIES)) == 2
        (idle,) = query_processes(keeper)
        handle = os.pidfd_open(idle.pid)
        os.kill(idle.pid, signal.SIGKILL)
        assert wait_until_gone([handle])
        assert len(rows_of(pool, COUNTRIES)) == 2


def test_a_process_that_has_grown_is_replaced(built_kg: Path) -> None:
    doubled = "".join(f"BIND(CONCAT(?x{i}, ?x{i}) AS ?x{i + 1}) " for i in range(25))
    with opened(built_kg, workers=1, memory=256 * 2**20) as (pool, keeper):
        ((cell,),) = rows_of(pool, f'SELECT (STRLEN(?x25) AS ?n) {{ BIND("a" AS ?x0) {doubled} }}')
        assert cell[0] == str(2**25)
        wait_until_none(keeper)
        assert len(rows_of(pool, COUNTRIES)) == 2
        assert len(query_processes(keeper)) == 1


def test_a_killed_keeper_takes_its_query_with_it_and_is_replaced(built_kg: Path) -> None:
    with opened(built_kg, workers=1) as (pool, keeper), ThreadPoolExecutor(1) as thread:
        rows_of(pool, COUNTRIES)
        running = thread.submit(failure_of, pool, ENDLESS)
        handle = os.pidfd_open(wait_until_busy(keeper).pid)
        os.kill(keeper, signal.SIGKILL)
        assert wait_until_gone([handle])
        assert running.result().kind == "resources"
        assert len(rows_of(pool, COUNTRIES)) == 2
    assert keeper not in keepers()


@pytest.mark.parametrize("error", [TimeoutError, EOFError])
def test_an_answer_counts_though_its_explanation_does_not_come(built_kg, monkeypatch, error):
    answers = []
    receive = pool_module._QueryProcess.receive

    def once(process: Any, deadline: float) -> Any:
        if answers:
            raise error
        message = receive(process, deadline)
        if isinstance(message, tuple):
            answers.append(message)
        return message

    with opened(built_kg, workers=1) as (pool, _):
        with monkeypatch.context() as patched:
            patched.setattr(pool_module._QueryProcess, "receive", once)
            late = pool.query("SELECT * { ?x wdt:P57 wd:Q5 }", LONG)
        assert (late.rows, late.complete) == ((), True)
        assert late.notes == ("There was no time left to find out why nothing matches.",)
        assert len(rows_of(pool, COUNTRIES)) == 2


HOST = """
import sys, threading, pathlib
from branchwise.kg.processes.pool import Pool
pool = Pool(pathlib.Path(sys.argv[1]), workers=1)
pool.query("ASK {}", 60.0)
print("opened", flush=True)
print(len(pool.query(sys.argv[2], 60.0).rows))
"""


@pytest.mark.parametrize("ends", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_query_processes_die_with_their_host(built_kg: Path, ends: signal.Signals) -> None:
    command = [sys.executable, "-c", HOST, str(built_kg), ENDLESS]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as host:
        assert host.stdout is not None
        assert host.stdout.readline() == b"opened\n"
        (keeper,) = keepers(host.pid)
        working = wait_until_busy(keeper)
        handles = [os.pidfd_open(pid) for pid in (keeper, working.pid)]
        host.send_signal(ends)
        assert host.wait(LONG) == -ends
    assert wait_until_gone(handles)


@pytest.mark.long
def test_who_finds_no_free_process_in_time_is_told_so(built_kg: Path) -> None:
    with opened(built_kg, workers=1) as (pool, keeper), ThreadPoolExecutor(1) as thread:
        rows_of(pool, COUNTRIES)
        running = thread.submit(failure_of, pool, ENDLESS, 2.0)
        wait_until_busy(keeper)
        error = failure_of(pool, COUNTRIES, 0.01)
        assert error.kind == "busy"
        assert "try again" in str(error)
        assert running.result().kind == "timeout"


def test_a_query_waits_three_times_as_long_as_it_may_run_and_loses_no_turn() -> None:
    with opened(None, workers=1) as (pool, _):
        taken = pool._turns.take(LONG)
        assert "free within 0.03 s" in str(failure_of(pool, COUNTRIES, 0.01))
        with pytest.raises(KgError, match=r"free within 0\.01 s"):
            pool.prepare(COUNTRIES, 0.01)
        pool._turns.give(taken)
        assert pool.prepare(COUNTRIES, LONG).form == "SELECT"


@pytest.mark.parametrize(("processors", "expected"), [(1, 2), (5, 5), (64, 8)])
def test_there_are_as_many_processes_as_processors(monkeypatch, processors, expected):
    monkeypatch.setattr(pool_module, "usable_cores", lambda: processors)
    with opened(None) as (pool, _):
        assert pool._workers == expected


def test_closing_ends_what_runs_and_leaves_nothing(built_kg: Path) -> None:
    files = open_files()
    with opened(built_kg, workers=2) as (pool, keeper), ThreadPoolExecutor(3) as threads:
        rows_of(pool, COUNTRIES)
        running = [threads.submit(failure_of, pool, ENDLESS) for _ in range(3)]
        wait_until_busy(keeper)
        pool.close()
        assert {str(future.result()) for future in running} == {"The graph was closed."}
        assert "closed" in str(failure_of(pool, COUNTRIES))
    assert keeper not in keepers()
    assert open_files() == files


def test_who_waits_for_a_process_to_open_hears_of_the_closing(built_kg, monkeypatch):
    receive = pool_module._QueryProcess.receive
    with opened(built_kg, workers=1) as (pool, _), ThreadPoolExecutor(1) as thread:

        def closed_meanwhile(process: Any, deadline: float) -> Any:
            if process._pid is None:
                return receive(process, deadline)
            thread.submit(pool.close)
            pool._keeper._process.wait()
            raise EOFError

        monkeypatch.setattr(pool_module._QueryProcess, "receive", closed_meanwhile)
        assert str(failure_of(pool, COUNTRIES)) == "The graph was closed."


def test_closing_at_once_does_not_wait_for_the_graph(built_kg: Path) -> None:
    files = open_files()
    for _ in range(5):
        Pool(built_kg).close()
    assert open_files() == files


def test_two_hosts_share_one_store_on_disk(built_kg: Path) -> None:
    with opened(built_kg, in_memory=0) as (pool, _):
        expected = rows_of(pool, COUNTRIES)
        command = [sys.executable, "-c", f"{HOST}pool.close()", str(built_kg), COUNTRIES]
        there = subprocess.run(command, capture_output=True, text=True, check=True)
        assert there.stdout.split() == ["opened", "2"]
        assert rows_of(pool, COUNTRIES) == expected


def test_a_damaged_store_is_an_error_not_a_hang(built_kg: Path, tmp_path: Path) -> None:
    for name in ("graph.json", "names.sqlite"):
        (tmp_path / name).symlink_to(built_kg / name)
    (tmp_path / "store").mkdir()
    for in_memory in (0, 500_000):
        with opened(tmp_path, workers=1, in_memory=in_memory) as (pool, _):
            assert failure_of(pool, COUNTRIES).kind == "damaged"


def test_queries_are_prepared_without_a_graph() -> None:
    with opened(None, workers=1) as (pool, _):
        text = "SELECT * { { ?x wdt:P57 wd:Q1 } UNION { ?x wdt:P58 ?y . ?y wdt:P31 wd:Q5 } }"
        assert pool.prepare(text, LONG) == prepare(text)
        with pytest.raises(KgError, match="line 1"):
            pool.prepare("SELECT ?film WHERE { ?film", LONG)


def test_who_has_waited_longest_is_served_first() -> None:
    with opened(None, workers=1) as (pool, _), ThreadPoolExecutor(5) as threads:
        taken, served = pool._turns.take(LONG), []
        waiting = []
        for name in range(5):
            waiting.append(threads.submit(pool.prepare, COUNTRIES, LONG))
            waiting[-1].add_done_callback(lambda _, name=name: served.append(name))
            while len(pool._turns._waiting) <= name:
                os.sched_yield()
        pool._turns.give(taken)
        assert {future.result().form for future in waiting} == {"SELECT"}
    assert served == [0, 1, 2, 3, 4]


def test_a_keeper_whose_host_went_while_it_loaded_ends() -> None:
    host, theirs = socket.socketpair()
    module = "branchwise.kg.processes.worker"
    with theirs:
        keeper = subprocess.Popen(
            [sys.executable, "-m", module, "-", "0", "0", ""],
            stdin=theirs.fileno(),
            start_new_session=True,
        )
    with keeper:
        host.close()
        assert keeper.wait(LONG) == -signal.SIGKILL


def test_a_forked_host_has_processes_of_its_own(built_kg: Path) -> None:
    with opened(built_kg, workers=1) as (pool, keeper):
        expected = rows_of(pool, COUNTRIES)
        inherited = os.fork()
        if inherited == 0:
            pool.close()  # ends nothing of its parent's
            os._exit(0)
        assert os.waitpid(inherited, 0)[1] == 0
        assert keeper in keepers()
        child = os.fork()
        if child == 0:
            try:
                same = rows_of(pool, COUNTRIES) == expected
                pool.close()
                os._exit(0 if same and pool._keeper._process.pid != keeper else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert rows_of(pool, COUNTRIES) == expected
