-- The runs as they stand (docs/design/0008-store.md). All tables have rowids, and `n` is the row's:
-- it is given by the writer, grows, and is the order of what it numbers.
--
-- `checksum`: 8 bytes of BLAKE2b over the table's name, the run's id and every other column in this
-- order (store/sqlite/row_codec.py), so that a row is known as hurt whatever was hit.
--
-- A content is NULL, a blob (the text itself, UTF-8) or an integer (the last node of its chain).

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value
);

-- Written to where only a sync is wanted.
INSERT INTO meta VALUES ('syncs', 0);

CREATE TABLE runs (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    header BLOB NOT NULL,          -- JSON of values.Run without id
    proof BLOB,                    -- JSON of records.Proof; NULL: its agent can't come back
    heard INTEGER NOT NULL,        -- the last number of its agent's messages that is kept
    events INTEGER NOT NULL,       -- how many rows it has in the table of that name; the next three too
    breakpoints INTEGER NOT NULL,
    commits INTEGER NOT NULL,
    notes INTEGER NOT NULL,
    changes INTEGER NOT NULL,      -- how many transactions touched it
    active INTEGER,                -- grows with each start and halt of any run; NULL: it has ended
    checksum BLOB NOT NULL
);

CREATE INDEX runs_live ON runs (active) WHERE active IS NOT NULL;

CREATE TABLE events (
    n INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,          -- runs.n; here and below
    id TEXT NOT NULL,
    body BLOB NOT NULL,            -- JSON of values.Event without id, run and data
    data,                          -- content
    checksum BLOB NOT NULL,
    UNIQUE (run, id)
);

CREATE TABLE breakpoints (
    n INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    body BLOB NOT NULL,            -- JSON of values.Breakpoint without id, run, data and edit
    data NOT NULL,                 -- content
    edit,                          -- content
    checksum BLOB NOT NULL,
    UNIQUE (run, id)
);

CREATE TABLE commits (
    n INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    id TEXT NOT NULL,
    body BLOB NOT NULL,            -- JSON of values.Commit without id, run and changes
    files INTEGER NOT NULL,        -- how many rows it has in `changes`
    checksum BLOB NOT NULL,
    UNIQUE (run, id)
);

CREATE TABLE changes (
    n INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    of INTEGER NOT NULL,           -- commits.n
    body BLOB NOT NULL,            -- JSON of values.FileChange without its body
    diff,                          -- contents; NULL: they don't travel
    content,
    previous_content,
    checksum BLOB NOT NULL
);

CREATE INDEX changes_of ON changes (run, of);

CREATE TABLE notes (
    n INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    message TEXT NOT NULL,
    body BLOB NOT NULL,            -- JSON of values.Note without run and message
    checksum BLOB NOT NULL,
    UNIQUE (run, message)
);

CREATE TABLE blobs (
    n INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    hash BLOB NOT NULL,            -- 16 bytes of BLAKE2b over what is in it
    bytes BLOB NOT NULL,           -- zlib
    UNIQUE (run, hash)
);

-- A content's text is its last node's blob after that of the node's parent, and so on.
CREATE TABLE nodes (
    n INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    parent INTEGER NOT NULL,       -- nodes.n; 0: it begins here
    blob INTEGER NOT NULL,         -- blobs.n
    checksum BLOB NOT NULL,        -- the blob's hash is part of it
    UNIQUE (run, parent, blob)
);
