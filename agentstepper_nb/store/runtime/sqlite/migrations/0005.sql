-- What a session needs of its worker (docs/design/0024-fleet.md): a number for each set of needs, so that a
-- claim looks at one row for each that fits, however many sessions wait that don't.

CREATE TABLE routes (
    id INTEGER PRIMARY KEY,        -- from 1; 0 is what any worker may do
    moniker TEXT NOT NULL,
    version TEXT NOT NULL,         -- '': any
    requires TEXT NOT NULL,        -- labels, sorted, as JSON
    UNIQUE (moniker, version, requires)
);

ALTER TABLE agent_state ADD COLUMN moniker_version TEXT;
ALTER TABLE agent_state ADD COLUMN requires TEXT NOT NULL DEFAULT '[]';
ALTER TABLE agent_state ADD COLUMN route INTEGER NOT NULL DEFAULT 0;
-- Of the session's route, or 0 where the session has ended.
ALTER TABLE heads ADD COLUMN route INTEGER NOT NULL DEFAULT 0;
ALTER TABLE holds ADD COLUMN route INTEGER NOT NULL DEFAULT 0;

INSERT INTO routes (moniker, version, requires) SELECT DISTINCT moniker, '', '[]' FROM agent_state;
UPDATE agent_state SET route = (SELECT id FROM routes WHERE moniker = agent_state.moniker);
UPDATE holds SET route = coalesce(
    (SELECT route FROM agent_state AS s WHERE s.session_id = holds.session_id), 0);
UPDATE heads SET route = coalesce(
    (SELECT route FROM agent_state AS s WHERE s.session_id = heads.session_id
      AND s.status IN ('created', 'running', 'paused', 'stopping')), 0);

CREATE INDEX heads_routed ON heads (route, urgency DESC, action) WHERE busy = 0 AND owner = '';

DROP INDEX agent_state_begun;
CREATE INDEX agent_state_begun ON agent_state (route, created_at)
    WHERE status IN ('running', 'paused', 'stopping');
CREATE INDEX agent_state_created ON agent_state (route) WHERE status = 'created';
