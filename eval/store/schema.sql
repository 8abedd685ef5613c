-- One run, self-contained. JSON bodies; every passage's text once, by content hash.
-- Plain rowid tables: WITHOUT ROWID keeps a quarter of a page of each row in place and gives the
-- rest a page of its own, which doubled the file.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE questions (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL);
CREATE TABLE passages (
    hash TEXT PRIMARY KEY, id TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL
);
CREATE TABLE items (
    item INTEGER PRIMARY KEY,
    question INTEGER NOT NULL REFERENCES questions (n),
    epoch INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'done', 'failed')),
    outcome BLOB,
    UNIQUE (question, epoch)
);
CREATE INDEX items_by_status ON items (status);
CREATE TABLE events (
    item INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, at REAL NOT NULL,
    body BLOB NOT NULL, PRIMARY KEY (item, seq)
);
CREATE TABLE responses (
    item INTEGER NOT NULL, kind TEXT NOT NULL, role TEXT NOT NULL, digest TEXT NOT NULL,
    occurrence INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (item, kind, role, digest, occurrence)
);
CREATE TABLE scores (digest TEXT PRIMARY KEY, body BLOB NOT NULL);
-- A table `judgements` is added by the first scoring that asks a model: judgements.py.
