"""What a graph folder holds, in sentences and a table."""

from collections.abc import Iterator, Sequence

from branchwise.base.text import counted, printable
from branchwise.kg.answers import Match
from branchwise.kg.names.index import NameReadings
from branchwise.kg.store import KgDescription
from branchwise.kg.vocabulary import is_wikidata_id
from branchwise.report.terminal.console import console
from branchwise.report.terminal.kg_tables import print_rows, print_sentence
from branchwise.tools.result_text import short_iri

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


def print_kg(
    path: str, kg: KgDescription, names: NameReadings, properties: Sequence[Match]
) -> None:
    """Print the size of a graph, where it comes from, what its names were read from, and its most
    used properties."""
    screen = console()
    for line in (*_described(path, kg, names), *_read(kg, names, properties)):
        print_sentence(screen, line)
    if properties:
        screen.print()
        rows = [(f"{it.statements:,}", printable(it.id), printable(it.label)) for it in properties]
        print_rows(("uses", "property", "label"), rows)


def sizes(kg: KgDescription, names: NameReadings) -> str:
    """Triples and entities; those that have nothing but a name explain a number that is larger
    than a world's."""
    alone = names.names_alone
    named_only = (
        f" ({alone:,} of them named only, as classes and genres often are)" if alone else ""
    )
    return (
        f"{counted(kg.triples, 'triple')}, {counted(kg.entities, 'entity', 'entities')}"
        f"{named_only}, {counted(kg.shared_names, 'shared name')}"
    )


def size(count: int) -> str:
    """Bytes in the largest unit that leaves at least one: "512 bytes", "1.5 KiB"."""
    amount, unit = float(count), _UNITS[0]
    for unit in _UNITS:
        if amount < 1024 or unit == _UNITS[-1]:
            break
        amount /= 1024
    return counted(count, "byte") if unit == _UNITS[0] else f"{amount:,.1f} {unit}"


def _described(path: str, kg: KgDescription, names: NameReadings) -> Iterator[str]:
    yield printable(f"{path}: {sizes(kg, names)}")
    for source in kg.sources:
        yield printable(f"from {source.name}, {size(source.bytes)} of triples")
    yield printable(f"SHA-256 {kg.sha256}")


def _read(kg: KgDescription, names: NameReadings, properties: Sequence[Match]) -> Iterator[str]:
    """How its properties are found, and which predicates say what things are called."""
    said = f"{counted(kg.names, 'name')} of entities; "
    said += counted(kg.properties, "property", "properties")
    if names.unlabelled:
        numbers = any(is_wikidata_id(it.id) for it in properties)
        by = "number" if numbers else "the end of their IRI"
        said += f", {names.unlabelled:,} of those in use without a label (found by {by} only)"
    yield said
    kinds = (
        ("labels", names.labels),
        ("aliases", names.aliases),
        ("descriptions", names.descriptions),
        ("types", names.types),
    )
    if any(iris for _, iris in kinds):
        for kind, iris in kinds:
            yield printable(f"read as {kind}: {', '.join(map(short_iri, iris)) or 'none'}")
