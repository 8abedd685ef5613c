-- One run, self-contained. JSON bodies; every passage's text once, by content hash.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE questions (n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, body BLOB NOT NULL);
CREATE TABLE passages (
    hash TEXT PRIMARY KEY, id TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL
) WITHOUT ROWID;
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
) WITHOUT ROWID;
CREATE TABLE responses (
    item INTEGER NOT NULL, kind TEXT NOT NULL, role TEXT NOT NULL, digest TEXT NOT NULL,
    occurrence INTEGER NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (item, kind, role, digest, occurrence)
) WITHOUT ROWID;
CREATE TABLE scores (digest TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;
