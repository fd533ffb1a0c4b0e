-- What a model was asked before, and which .run files of version 1 were taken in.

CREATE TABLE sentences (
    n INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,          -- it goes with this run
    key TEXT NOT NULL,
    text TEXT NOT NULL,
    checksum BLOB NOT NULL,
    UNIQUE (run, key)
);

CREATE INDEX sentences_key ON sentences (key);

CREATE TABLE files (
    name TEXT PRIMARY KEY,         -- in DIR/logs
    run INTEGER NOT NULL           -- runs.n: the file goes when the run is deleted
);
