"""A film and an album that share a name, and the film's director."""

from pathlib import Path

from branchwise.kg.build import build_kg

WD = "http://www.wikidata.org/entity/"
WDT = "http://www.wikidata.org/prop/direct/"
TRIPLES = f"""
<{WD}Q1> <http://www.w3.org/2000/01/rdf-schema#label> "Aurora"@en .
<{WD}Q1> <http://schema.org/description> "1990 film"@en .
<{WD}Q1> <{WDT}P31> <{WD}Q11424> .
<{WD}Q1> <{WDT}P57> <{WD}Q3> .
<{WD}Q1> <{WDT}P577> "1990-05-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
<{WD}Q2> <http://www.w3.org/2000/01/rdf-schema#label> "Aurora"@en .
<{WD}Q2> <http://schema.org/description> "2004 album"@en .
<{WD}Q3> <http://www.w3.org/2000/01/rdf-schema#label> "Ann\\nLee"@en .
<{WD}Q11424> <http://www.w3.org/2000/01/rdf-schema#label> "film"@en .
<{WD}P57> <http://www.w3.org/2000/01/rdf-schema#label> "director"@en .
<{WD}P57> <http://www.w3.org/2004/02/skos/core#altLabel> "directed by"@en .
"""


def aurora_kg(folder: Path) -> Path:
    (folder / "g.nt").write_text(TRIPLES)
    build_kg([folder / "g.nt"], folder / "G")
    return folder / "G"
