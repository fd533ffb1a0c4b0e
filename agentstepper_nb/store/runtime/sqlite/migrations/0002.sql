-- Tries of a step, and workers that ended while it was under way (docs/design/0024-fleet.md); actions that
-- take a failed one's place.

ALTER TABLE agent_state ADD COLUMN attempt INTEGER NOT NULL DEFAULT 0;
ALTER TABLE agent_state ADD COLUMN next_try_at REAL;
ALTER TABLE agent_state ADD COLUMN losses TEXT NOT NULL DEFAULT '[]';
ALTER TABLE agent_state ADD COLUMN is_sharing INTEGER NOT NULL DEFAULT 0;

-- How the owner ended, where that is known.
ALTER TABLE holds ADD COLUMN ending TEXT;

ALTER TABLE actions ADD COLUMN retry_of TEXT;
