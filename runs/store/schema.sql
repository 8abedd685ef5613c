-- One run, self-contained. JSON bodies; every passage's text once, by content hash.
-- `checksum` is over the table's name and the row's other columns (tables.py). A passage's hash is
-- its checksum. An item that has ended says how many events and responses it has, so that a row
-- that vanishes is missed.
-- Plain rowid tables: WITHOUT ROWID keeps a quarter of a page of each row in place and gives the
-- rest a page of its own, which doubled the file.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE questions (
    n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL, checksum INTEGER NOT NULL
);
CREATE TABLE passages (
    hash TEXT PRIMARY KEY, id TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL
);
CREATE TABLE items (
    item INTEGER PRIMARY KEY,
    question INTEGER NOT NULL REFERENCES questions (n),
    epoch INTEGER NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('pending', 'running', 'done', 'failed')),
    events INTEGER,
    responses INTEGER,
    outcome BLOB,
    checksum INTEGER NOT NULL,
    UNIQUE (question, epoch)
);
CREATE INDEX items_by_status ON items (status);
CREATE TABLE events (
    item INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL,
    body BLOB NOT NULL, checksum INTEGER NOT NULL, PRIMARY KEY (item, seq)
);
CREATE TABLE responses (
    item INTEGER NOT NULL, kind TEXT NOT NULL, role TEXT NOT NULL, digest TEXT NOT NULL,
    occurrence INTEGER NOT NULL, body BLOB NOT NULL, checksum INTEGER NOT NULL,
    PRIMARY KEY (item, kind, role, digest, occurrence)
);
CREATE TABLE scores (digest TEXT PRIMARY KEY, body BLOB NOT NULL, checksum INTEGER NOT NULL);
-- Further tables are made when they are first filled: tables.py.
