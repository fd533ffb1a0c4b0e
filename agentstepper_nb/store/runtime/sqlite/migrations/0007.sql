-- Delayed and periodic actions: when each is due, and what it repeats (docs/design/0024-fleet.md).

ALTER TABLE actions ADD COLUMN not_before REAL;
ALTER TABLE actions ADD COLUMN every REAL;
ALTER TABLE actions ADD COLUMN cron TEXT;
ALTER TABLE actions ADD COLUMN series_id TEXT;

-- Until when it waits, as long as it does: a claim sets it to NULL, and the rank to that of its kind. The
-- rank of one that waits is 3, behind those that are due; a creation that waits has 0, and its session has
-- no head.
ALTER TABLE actions ADD COLUMN due_at REAL;

CREATE INDEX actions_delayed ON actions (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX actions_of_series ON actions (series_id, n) WHERE series_id IS NOT NULL;

-- Retention: sessions by when they ended, and what a conversation is needed for.
CREATE INDEX agent_state_ended ON agent_state (updated_at, n) WHERE status IN ('stopped', 'done', 'error');
CREATE INDEX agent_state_in_conversation ON agent_state (conversation_id)
    WHERE conversation_id IS NOT NULL;
CREATE INDEX conversation_participants_of_session ON conversation_participants (session_id)
    WHERE session_id IS NOT NULL;
