-- As SQLite's 0008.
ALTER TABLE agent_state ADD COLUMN is_pausing boolean NOT NULL DEFAULT false;
