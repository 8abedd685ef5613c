from collections import Counter
from collections.abc import Sequence

from rich.console import Console

from branchwise.eval.errors.module_work import (
    ExpansionWork,
    ExtractionWork,
    ModuleWork,
    NodeWork,
    ToolWork,
    inert_parts,
)
from branchwise.eval.judging.settle import Settled
from branchwise.report.terminal.run_notes import ALARM, NOTICE, module_lines, module_notes

EXPANSION = ExpansionWork(Counter(server=2), Counter(), 30, 12, 37)
EXTRACTION = ExtractionWork(
    failures=Counter(timeout=20, bad_request=8),
    dropped=Counter({"repeated": 5, "not in the passage": 50}),
    passages=1148,
    with_spans=640,
    spans=1408,
)


def printed(runs: Sequence[tuple[str, ModuleWork]], *, colours: bool = False) -> str:
    console = Console(width=200, force_terminal=colours, highlight=False, legacy_windows=False)
    with console.capture() as capture:
        named = [(name, work, inert_parts(work, Settled(()))) for name, work in runs]
        for part in module_notes(named):
            console.print(part)
    return capture.get()


def test_both_modules_are_said_in_a_line_each():
    lines = module_lines(ModuleWork(EXPANSION, EXTRACTION))
    assert [line for line, _ in lines] == [
        "expand: readings for 12 of 30 questions (3.1 each), 2 failed (server 2)",
        "extract: 1,148 passages: 640 with spans (2.2 each), 480 with nothing, "
        "28 failed and shown whole (timeout 20, bad request 8); "
        "55 spans dropped (not in the passage 50, repeated 5)",
    ]
    assert [style for _, style in lines] == ["", ""]


def test_requests_and_passages_that_were_read_before_are_said_where_they_differ():
    work = ExtractionWork(
        passages=40, with_spans=10, spans=20, shared=34, together=2, reused=5, whole=1
    )
    ((line, _),) = module_lines(ModuleWork(extraction=work))
    assert line == (
        "extract: 40 passages in 3 requests: 10 with spans (2.0 each, 1 copied whole), "
        "25 with nothing, 5 read before"
    )


def test_a_module_whose_calls_all_failed_alarms():
    expansion = ExpansionWork(Counter(server=3), Counter(), items=3)
    extraction = ExtractionWork(Counter(timeout=1), Counter(), passages=1)
    assert module_lines(ModuleWork(expansion, extraction)) == [
        ("expand: readings for 0 of 3 questions, 3 failed (server 3)", ALARM),
        ("extract: 1 passage: 0 with spans, 1 failed and shown whole (timeout 1)", ALARM),
    ]
    in_colour = printed([("a", ModuleWork(expansion))], colours=True)
    assert "\x1b[1;31mexpand: readings for 0 of 3" in in_colour


def test_searches_for_names_are_counted_and_the_failed_ones_among_them():
    looked = ExpansionWork(
        Counter(), Counter(), items=2, expanded=2, readings=5, searches=1200, failed_searches=3
    )
    said = "expand: readings for 2 of 2 questions (2.5 each), 1,200 searches for names (3 failed)"
    assert module_lines(ModuleWork(looked)) == [(said, "")]
    assert module_lines(ModuleWork(looked), "item") == [(said.replace("question", "item"), "")]


def test_a_module_that_ran_and_brought_nothing_stands_out():
    expansion = ExpansionWork(Counter(), Counter({"no other reading beside it": 2}), items=3)
    extraction = ExtractionWork(
        Counter(), Counter({"not in the passage": 4}), passages=3, emptied=2
    )
    assert module_lines(ModuleWork(expansion, extraction)) == [
        (
            "expand: readings for 0 of 3 questions; 2 lines dropped (no other reading beside it 2)",
            NOTICE,
        ),
        (
            "extract: 3 passages: 0 with spans, 3 with nothing (in 2 all was dropped); "
            "4 spans dropped (not in the passage 4)",
            NOTICE,
        ),
    ]


def test_a_module_without_work_says_so():
    assert module_lines(ModuleWork(ExpansionWork(), ExtractionWork())) == [
        ("expand: no question came to be expanded", NOTICE),
        ("extract: no tool call returned passages to extract from", NOTICE),
    ]


def test_a_node_says_what_it_changed_and_why_it_failed_the_first_time():
    nodes = {
        "works": NodeWork(1200, 1100),
        "partly": NodeWork(4, 2, 1, "ValueError: no"),
        "idle": NodeWork(1),
        "broken": NodeWork(3, 0, 3, "returned 'pendng'"),
        "unmet": NodeWork(),
    }
    assert module_lines(ModuleWork(nodes=nodes)) == [
        ("node works: 1,200 calls: 1,100 changed something", ""),
        ("node partly: 4 calls: 2 changed something, 1 failed (ValueError: no)", ""),
        ("node idle: 1 call: 0 changed something", NOTICE),
        (
            "node broken: 3 calls: 0 changed something, 3 failed (the first: returned 'pendng')",
            ALARM,
        ),
        ("node unmet: it was never called", NOTICE),
    ]


def test_what_a_node_raised_reaches_the_terminal_as_words():
    hostile = ModuleWork(nodes={"n": NodeWork(1, 0, 1, "[bold]\x1b[2J")})
    text = printed([("off", ModuleWork()), ("[red]x\x1b[0m", hostile)])
    assert "failed ([bold]\N{REPLACEMENT CHARACTER}[2J)" in text
    assert text.split()[0] == "[red]x\N{REPLACEMENT CHARACTER}[0m"


def test_what_did_nothing_is_said_first_and_in_so_many_words():
    work = ModuleWork(nodes={"idle": NodeWork(1)}, tools={"a": ToolWork(2), "b": ToolWork()})
    assert [line.strip() for line in printed([("run", work)]).splitlines() if line.strip()] == [
        "the tool b did nothing: it was never called",
        "the node idle did nothing: it changed nothing in 1 call",
        "node idle: 1 call: 0 changed something",
    ]
