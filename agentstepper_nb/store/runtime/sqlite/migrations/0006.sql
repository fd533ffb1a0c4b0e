-- How all sessions stand (docs/design/0024-fleet.md): counts and errors are read from these alone.

CREATE INDEX agent_state_fleet ON agent_state (status, moniker, attempt, run_id);
CREATE INDEX agent_state_failed ON agent_state (last_error, status) WHERE status = 'error';
