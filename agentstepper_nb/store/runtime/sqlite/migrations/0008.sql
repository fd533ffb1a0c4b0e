-- Whether a session is paused once the step that is under way has ended (docs/design/0015-runtime.md).
ALTER TABLE agent_state ADD COLUMN is_pausing INTEGER NOT NULL DEFAULT 0;
