"""Three films, a song and five people: small enough to work out by hand what is true of them."""

from branchwise.kg.schema import Domain, Schema, merge

SCHEMA = """
types:
  film: {class: Q11424, noun: film, plural: films}
  song: {class: Q7366, noun: song, plural: songs}
  award: {class: Q618779, noun: award, plural: awards}
  person: {class: Q5, noun: person, plural: people}
  actor: {is: person, occupation: Q33999, noun: actor, plural: actors}
  director: {is: person, occupation: Q2526255, noun: director, plural: directors}
relations:
  cast: {property: P161, label: cast, subject: film, object: actor}
  directed_by: {property: P57, label: director, subject: film, object: director}
  genre: {property: P136, label: genre, subject: film, items: genre}
  honour: {property: P166, label: award, subject: [film, actor, person], object: award}
  released: {property: P577, label: date, subject: film, date: year}
  runtime: {property: P2047, label: duration, subject: film, number: [1, 999]}
  born: {property: P569, label: born, subject: person, date: year}
items:
  genre: {Q130232: drama, Q157443: comedy}
"""

# Films 101 to 103, a song 104, directors 111 and 112, actors 121 to 123, an award 131. 111 acts,
# too; 124 is a human without an occupation.
TRIPLES = """
@prefix e: <http://www.wikidata.org/entity/> .
@prefix d: <http://www.wikidata.org/prop/direct/> .
@prefix x: <http://www.w3.org/2001/XMLSchema#> .
@prefix r: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix s: <http://www.w3.org/2004/02/skos/core#> .
e:Q101 d:P31 e:Q11424 ; r:label "Chaleur"@fr, "Heat"@en ; s:altLabel "Warmth"@en, "Heat"@en ;
  d:P57 e:Q111 ; d:P161 e:Q121, e:Q122 ; d:P136 e:Q130232 ;
  d:P577 "1995-12-15T00:00:00Z"^^x:dateTime ; d:P2047 "170"^^x:decimal ; d:P166 e:Q131 .
e:Q102 d:P31 e:Q11424 ; r:label "Nuit"@fr ; s:altLabel "Soir"@fr ;
  d:P57 e:Q111 ; d:P161 e:Q121, e:Q123 ; d:P136 e:Q130232, e:Q157443 ;
  d:P577 "1999"^^x:gYear ; d:P2047 "+95.50"^^x:decimal .
e:Q103 d:P31 e:Q11424 ; d:P57 e:Q112 ; d:P161 e:Q111, e:Q121, _:somebody ;
  d:P136 <http://www.wikidata.org/.well-known/genid/1> ; d:P577 "unknown", "2003-01-01"^^x:date .
e:Q104 d:P31 e:Q7366 ; d:P161 e:Q121 ; d:P57 e:Q111 ; d:P577 "2001-01-01"^^x:date .
e:Q111 d:P31 e:Q5 ; d:P106 e:Q33999, e:Q2526255 ; d:P569 "-0044-03-15T00:00:00Z"^^x:dateTime .
e:Q112 d:P31 e:Q5 ; d:P106 e:Q2526255 .
e:Q121 d:P31 e:Q5 ; d:P106 e:Q33999 ; d:P569 "1940-04-25T00:00:00Z"^^x:dateTime ; d:P166 e:Q131 .
e:Q122 d:P31 e:Q5 ; d:P106 e:Q33999 .
e:Q123 d:P31 e:Q5 ; d:P106 e:Q33999 .
e:Q124 d:P31 e:Q5 ; d:P569 "1950-01-01T00:00:00Z"^^x:dateTime ; d:P166 e:Q131 .
e:Q131 d:P31 e:Q618779 ; r:label "Prize" .
<http://example.org/film> d:P31 e:Q11424 ; d:P161 e:Q123 .
"""

OTHER = "<http://example.org/film>"


def little_schema() -> Schema:
    import yaml

    return merge({"little": Domain.model_validate(yaml.safe_load(SCHEMA))})
