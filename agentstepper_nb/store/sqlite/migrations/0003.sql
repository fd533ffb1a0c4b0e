-- Where rows and commits stand in their run, so that a page of it is read without the run. These
-- columns repeat what the body says, for the indexes, and aren't under the checksum: a reader compares.

ALTER TABLE breakpoints ADD COLUMN seq INTEGER;
UPDATE breakpoints SET seq = json_extract(CAST(body AS TEXT), '$.seq')
    WHERE json_valid(CAST(body AS TEXT));
CREATE INDEX breakpoints_seq ON breakpoints (run, seq);

-- Of events, only debug messages are rows.
ALTER TABLE events ADD COLUMN seq INTEGER;
UPDATE events SET seq = json_extract(CAST(body AS TEXT), '$.seq')
    WHERE json_valid(CAST(body AS TEXT))
    AND json_extract(CAST(body AS TEXT), '$.kind') = 'debug_message';
CREATE INDEX events_seq ON events (run, seq) WHERE seq IS NOT NULL;

ALTER TABLE commits ADD COLUMN seq INTEGER;
ALTER TABLE commits ADD COLUMN event TEXT;
UPDATE commits SET seq = ifnull(json_extract(CAST(body AS TEXT), '$.seq'), 0),
        event = json_extract(CAST(body AS TEXT), '$.event')
    WHERE json_valid(CAST(body AS TEXT));
-- By n, which every index ends with.
CREATE INDEX commits_run ON commits (run);
CREATE INDEX commits_seq ON commits (run, seq);
CREATE INDEX commits_event ON commits (run, event) WHERE event IS NOT NULL;

-- What holds for all runs. The checksum is as everywhere, with "" in place of a run's id.
CREATE TABLE rules (
    n INTEGER PRIMARY KEY,         -- the order in which stops were made
    kind TEXT NOT NULL,            -- 'stop' or 'prices'
    id TEXT NOT NULL,              -- of the stop; '' for the prices, which are one row
    body BLOB NOT NULL,            -- JSON of stops.Stop, or of all stops.Price
    checksum BLOB NOT NULL,
    UNIQUE (kind, id)
);
