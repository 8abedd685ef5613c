"""The tables of `names.sqlite`.

Names are numbered by how likely they are meant (few words, then many statements), so that a
search that reads them in order may stop early. Items and properties have tables of their own.
"""

from branchwise.kg.answers import SearchKind

KINDS: tuple[SearchKind, SearchKind] = ("item", "property")

SETTINGS = """
PRAGMA main.journal_mode = OFF;
PRAGMA main.synchronous = OFF;
PRAGMA staging.journal_mode = OFF;
PRAGMA staging.synchronous = OFF;
PRAGMA cache_size = -65536;
"""

THINGS = """
CREATE TABLE things (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL,             -- Q42, P57 or an IRI
    kind TEXT NOT NULL,           -- item or property
    label TEXT,                   -- none where the graph gives none
    description TEXT NOT NULL DEFAULT '',
    types TEXT NOT NULL DEFAULT '',        -- ids, a line each
    years TEXT NOT NULL DEFAULT '',        -- of its dates
    statements INTEGER NOT NULL DEFAULT 0, -- of a property: uses
    used INTEGER NOT NULL DEFAULT 0        -- how often it is an object
);
CREATE TABLE staging.named (thing INTEGER, kind TEXT, text TEXT, key TEXT, squeezed TEXT);
CREATE TABLE staging.used (id TEXT, uses INTEGER);
CREATE TABLE staging.members (id TEXT, members INTEGER)
"""

ADD_THING = """
INSERT INTO things (id, kind, label, description, types, years, statements)
VALUES (?, ?, ?, ?, ?, ?, ?)
"""

# Things that are only ever objects are known, too.
ADD_USED = """
CREATE UNIQUE INDEX thing_ids ON things (id);
INSERT INTO things (id, kind, used) SELECT id, 'item', sum(uses) FROM staging.used WHERE true
GROUP BY id ON CONFLICT (id) DO UPDATE SET used = excluded.used;
CREATE INDEX staging.borne ON named (thing)
"""

ADD_PREDICATE = """
INSERT INTO things (id, kind, statements) VALUES (?, 'property', ?)
ON CONFLICT (id) DO UPDATE SET kind = 'property', statements = excluded.statements
RETURNING number
"""

ENDS = """
CREATE TABLE ends (
    thing INTEGER PRIMARY KEY,
    subjects TEXT NOT NULL, -- names of the kinds of things that it leads from, a line each
    objects TEXT NOT NULL   -- and to
)
"""
ADD_ENDS = "INSERT INTO ends VALUES (?, ?, ?)"

CLASSES = """
CREATE TABLE classes (thing INTEGER PRIMARY KEY, members INTEGER NOT NULL);
INSERT INTO classes SELECT number, sum(members) FROM staging.members JOIN things USING (id)
GROUP BY number
"""

NAMES = """
CREATE TABLE names_{kind} (number INTEGER PRIMARY KEY, key TEXT NOT NULL, squeezed TEXT NOT NULL);
-- The text is left out where it is the thing's label.
CREATE TABLE bearers_{kind} (
    name INTEGER, thing INTEGER, text TEXT, PRIMARY KEY (name, thing)
) WITHOUT ROWID;
INSERT INTO names_{kind} (key, squeezed)
SELECT key, min(squeezed) FROM staging.named JOIN things ON things.number = thing
WHERE named.kind = '{kind}' GROUP BY key
ORDER BY length(key) - length(min(squeezed)), max(statements + used) DESC, key;
CREATE UNIQUE INDEX key_{kind} ON names_{kind} (key);
INSERT OR IGNORE INTO bearers_{kind}
SELECT names_{kind}.number, thing, nullif(text, label)
FROM staging.named JOIN names_{kind} USING (key) JOIN things ON things.number = thing
WHERE named.kind = '{kind}' ORDER BY names_{kind}.number, thing, text IS NOT label, text;
DROP INDEX key_{kind};
CREATE INDEX squeezed_{kind} ON names_{kind} (squeezed)
"""

WORDS = """
CREATE VIRTUAL TABLE words_{kind} USING fts5 (
    name, about, content='', columnsize=0, prefix='2 3',
    tokenize="unicode61 remove_diacritics 0 tokenchars '+#'"
)
"""
ALL_NAMES = "SELECT number, key FROM names_{kind} ORDER BY number"
ADD_WORDS = "INSERT INTO words_{kind} (rowid, name, about) VALUES (?, ?, ?)"
SAID_OF_BEARERS = """
SELECT description, types, years FROM bearers_{kind} JOIN things ON number = thing
WHERE name = ? LIMIT ?
"""

ENDS_OF_BEARERS = """
SELECT subjects, objects FROM bearers_property JOIN ends USING (thing) WHERE name = ? LIMIT ?
"""

SPELLINGS = """
CREATE TABLE spellings_{kind} (
    number INTEGER PRIMARY KEY, word TEXT NOT NULL, names INTEGER NOT NULL
);
CREATE VIRTUAL TABLE temp.found_{kind} USING fts5vocab (main, words_{kind}, col);
INSERT INTO spellings_{kind} (word, names)
SELECT term, doc FROM temp.found_{kind} WHERE col = 'name' ORDER BY term;
DROP TABLE temp.found_{kind};
CREATE UNIQUE INDEX word_{kind} ON spellings_{kind} (word);
CREATE TABLE staging.codes_{kind} (code INTEGER, word INTEGER)
"""
ALL_SPELLINGS = "SELECT number, word FROM spellings_{kind}"
ADD_CODE = "INSERT INTO staging.codes_{kind} VALUES (?, ?)"
TYPOS = """
CREATE TABLE typos_{kind} (code INTEGER, word INTEGER, PRIMARY KEY (code, word)) WITHOUT ROWID;
INSERT OR IGNORE INTO typos_{kind} SELECT code, word FROM staging.codes_{kind} ORDER BY code, word
"""

COUNTS = """
SELECT (SELECT count(*) FROM things WHERE kind = 'item' AND (statements OR label IS NOT NULL)),
    (SELECT count(*) FROM things WHERE kind = 'property'),
    (SELECT count(*) FROM names_item),
    (SELECT count(*) FROM (SELECT 1 FROM bearers_item GROUP BY name HAVING count(*) > 1))
"""
