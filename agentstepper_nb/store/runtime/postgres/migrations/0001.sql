-- What background agents keep, as in ../../sqlite/migrations: columns have the names of protocol.runtime's
-- fields, those that hold JSON hold its text, and `n` is the order in which rows came.

CREATE TABLE meta (
    name text PRIMARY KEY,
    value bigint NOT NULL
);

-- Functions of SQLite that statements of both databases use.

CREATE FUNCTION json_valid(document text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN document::json IS NOT NULL;
EXCEPTION WHEN others THEN
    RETURN false;
END $$;

-- Of a list. What PostgreSQL's texts can't hold, as a NUL, makes it empty.
CREATE FUNCTION json_each(list text) RETURNS TABLE (value text) LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN QUERY SELECT json_array_elements_text(list::json);
EXCEPTION WHEN others THEN
    RETURN;
END $$;

-- Of a path `$.NAME`.
CREATE FUNCTION json_extract(document text, path text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN document::json ->> substr(path, 3);
EXCEPTION WHEN others THEN
    RETURN NULL;
END $$;

CREATE FUNCTION min(a double precision, b double precision) RETURNS double precision LANGUAGE sql IMMUTABLE AS
    'SELECT CASE WHEN a IS NULL OR b IS NULL THEN NULL ELSE least(a, b) END';

CREATE FUNCTION max(a double precision, b double precision) RETURNS double precision LANGUAGE sql IMMUTABLE AS
    'SELECT CASE WHEN a IS NULL OR b IS NULL THEN NULL ELSE greatest(a, b) END';

-- Numbers of changes: 16,384 for each transaction, in the order of transactions, so that a reader knows which
-- numbers may yet come. `database.renumber_changes` defines both functions anew where a database was restored
-- from a dump.

CREATE FUNCTION change_number() RETURNS bigint LANGUAGE sql AS
    'SELECT (pg_current_xact_id()::text::bigint + 0) << 14';

-- All transactions with lower numbers are over.
CREATE FUNCTION first_open_change() RETURNS bigint LANGUAGE sql AS
    'SELECT (pg_snapshot_xmin(pg_current_snapshot())::text::bigint + 0) << 14';

-- The rows of one transaction are counted in a setting that ends with it. More than it has numbers for share
-- the last one.
CREATE FUNCTION number_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    n bigint := coalesce(nullif(current_setting('agentstepper.changes', true), ''), '0');
BEGIN
    NEW.changed := agentstepper.change_number() + least(n, 16383);
    PERFORM set_config('agentstepper.changes', (n + 1)::text, true);
    RETURN NEW;
END $$;

-- What sessions need of their worker.
CREATE TABLE routes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,  -- from 1; 0 is what any worker may do
    moniker text NOT NULL,
    version text NOT NULL,         -- '': any
    requires text NOT NULL         -- labels, sorted, as JSON
);

CREATE UNIQUE INDEX routes_by_needs ON routes (moniker, version, md5(requires));

CREATE TABLE actions (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    created_at double precision NOT NULL,
    kind text NOT NULL,
    agent_id text NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    urgency bigint NOT NULL,
    payload text,
    metadata text,
    status text NOT NULL,
    owner text,
    lease_until double precision,
    attempts bigint NOT NULL,
    idem_key text UNIQUE,
    error text,
    processed_at double precision,
    retry_of text,
    not_before double precision,
    every double precision,
    cron text,
    series_id text,
    rank smallint,                 -- among its session's: 0 creates, 1 controls, 2 the rest, 3 waits for its time;
                                   -- NULL: it is over
    due_at double precision,       -- until when it waits, as long as it does
    changed bigint NOT NULL
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX actions_open ON actions (session_id, rank, urgency DESC, n) WHERE rank IS NOT NULL;
CREATE INDEX actions_claimed ON actions (owner, n) WHERE status = 'claimed';
CREATE INDEX actions_under_way ON actions (session_id) WHERE status = 'claimed';
CREATE INDEX actions_of_session ON actions (session_id, n);
CREATE INDEX actions_of_agent ON actions (agent_id, n);
CREATE INDEX actions_unfinished ON actions (n) WHERE rank IS NOT NULL;
CREATE INDEX actions_failed ON actions (n) WHERE status = 'failed';
CREATE INDEX actions_delayed ON actions (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX actions_of_series ON actions (series_id, n) WHERE series_id IS NOT NULL;
CREATE INDEX actions_changed ON actions (changed);

CREATE TRIGGER actions_new BEFORE INSERT ON actions FOR EACH ROW EXECUTE FUNCTION number_change();
-- Not where a lease lasts longer.
CREATE TRIGGER actions_changed BEFORE UPDATE OF status ON actions FOR EACH ROW EXECUTE FUNCTION number_change();

-- The first open action of each session that has any, and who may claim it now. Derived from `actions` and
-- `holds` in the transaction that changes these, which has the session's row of `agent_state` locked.
CREATE TABLE heads (
    session_id text COLLATE "C" PRIMARY KEY,
    action bigint NOT NULL,        -- actions.n
    urgency bigint NOT NULL,
    owner text NOT NULL,           -- who alone may claim it; '': anybody
    busy boolean NOT NULL,         -- one of the session's is claimed
    due double precision,          -- when the lease that says so is over; NULL: none does
    route bigint NOT NULL          -- of the session, or 0 where it has ended
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX heads_ready ON heads (owner, urgency DESC, action) WHERE NOT busy;
CREATE INDEX heads_routed ON heads (route, urgency DESC, action) WHERE NOT busy AND owner = '';
CREATE INDEX heads_due ON heads (due) WHERE due IS NOT NULL;

-- Its rows are the locks of sessions, too: who changes anything of a session locks its row first.
CREATE TABLE agent_state (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    agent_id text NOT NULL,
    session_id text COLLATE "C" NOT NULL UNIQUE,
    status text NOT NULL,
    iteration bigint NOT NULL,
    step_token text,
    next_step_token text,
    state text,
    result text,
    context text,
    guidance text,
    last_error text,
    moniker text NOT NULL,
    config text,
    limits text,
    conversation_id text,
    run_id text,
    step boolean NOT NULL,
    ran_s double precision NOT NULL,
    epoch bigint NOT NULL,
    created_at double precision NOT NULL,
    updated_at double precision NOT NULL,
    attempt bigint NOT NULL,
    next_try_at double precision,
    losses text NOT NULL,
    is_sharing boolean NOT NULL,
    moniker_version text,
    requires text NOT NULL,
    route bigint NOT NULL,
    changed bigint NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX agent_state_by_age ON agent_state (created_at, n);
CREATE INDEX agent_state_of_agent ON agent_state (agent_id, created_at, n);
CREATE INDEX agent_state_begun ON agent_state (route, created_at)
    WHERE status IN ('running', 'paused', 'stopping');
CREATE INDEX agent_state_created ON agent_state (route) WHERE status = 'created';
CREATE INDEX agent_state_fleet ON agent_state (status, moniker, attempt, run_id);
CREATE INDEX agent_state_live ON agent_state (status, created_at, n);
CREATE INDEX agent_state_ended ON agent_state (updated_at, n) WHERE status IN ('stopped', 'done', 'error');
CREATE INDEX agent_state_in_conversation ON agent_state (conversation_id) WHERE conversation_id IS NOT NULL;
CREATE INDEX agent_state_changed ON agent_state (changed);
CREATE TRIGGER agent_state_changed BEFORE INSERT OR UPDATE ON agent_state
    FOR EACH ROW EXECUTE FUNCTION number_change();

-- Who has a session, beside its snapshot: leases are renewed often, and snapshots are large.
CREATE TABLE holds (
    session_id text COLLATE "C" PRIMARY KEY,
    owner text NOT NULL,
    lease_until double precision NOT NULL,
    ending text,                   -- how the owner ended, where that is known
    route bigint NOT NULL          -- of the session
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

CREATE INDEX holds_of_owner ON holds (owner);

CREATE TABLE agent_steps (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE,
    created_at double precision NOT NULL,
    agent_id text NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    iteration bigint NOT NULL,
    event_seq bigint NOT NULL,
    step_token text NOT NULL,
    next_step_token text,
    status text NOT NULL,
    text text,
    data text,
    state text,
    guidance text,
    notes text,
    latency_ms double precision,
    error text,
    changed bigint NOT NULL,
    UNIQUE (session_id, iteration, event_seq)
);

CREATE INDEX agent_steps_of_agent ON agent_steps (agent_id, session_id, iteration, event_seq);
CREATE INDEX agent_steps_changed ON agent_steps (changed);
CREATE TRIGGER agent_steps_changed BEFORE INSERT OR UPDATE ON agent_steps
    FOR EACH ROW EXECUTE FUNCTION number_change();

-- Its rows are the locks of conversations: messages of one are committed in the order of their numbers.
CREATE TABLE conversations (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    conversation_id text NOT NULL UNIQUE,
    title text NOT NULL,
    created_by text NOT NULL,
    status text NOT NULL,
    tags text NOT NULL,
    created_at double precision NOT NULL,
    changed bigint NOT NULL
);

CREATE INDEX conversations_by_age ON conversations (created_at, n);
CREATE INDEX conversations_changed ON conversations (changed);
CREATE TRIGGER conversations_changed BEFORE INSERT OR UPDATE ON conversations
    FOR EACH ROW EXECUTE FUNCTION number_change();

CREATE TABLE conversation_participants (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    participant_id text NOT NULL UNIQUE,
    conversation_id text NOT NULL,
    kind text NOT NULL,
    user_id text,
    agent_id text,
    session_id text,
    role text NOT NULL,
    delivery text NOT NULL,
    hears text NOT NULL,
    joined_at double precision NOT NULL,
    left_at double precision,
    changed bigint NOT NULL
);

CREATE INDEX conversation_participants_of ON conversation_participants (conversation_id, n);
CREATE INDEX conversation_participants_of_session ON conversation_participants (session_id)
    WHERE session_id IS NOT NULL;
CREATE INDEX conversation_participants_changed ON conversation_participants (changed);
CREATE TRIGGER conversation_participants_changed BEFORE INSERT OR UPDATE ON conversation_participants
    FOR EACH ROW EXECUTE FUNCTION number_change();

CREATE TABLE conversation_messages (
    n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message_id text NOT NULL UNIQUE,
    conversation_id text NOT NULL,
    created_at double precision NOT NULL,
    sender_type text NOT NULL,
    user_id text,
    agent_id text,
    session_id text,
    text text NOT NULL,
    data text,
    status text,
    event_type text,
    iteration bigint,
    step_token text,
    next_step_token text,
    notes text,
    changed bigint NOT NULL
);

-- A message has its number once its conversation is locked.
CREATE FUNCTION number_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM agentstepper.conversations WHERE conversation_id = NEW.conversation_id FOR UPDATE;
    NEW.n := nextval(pg_get_serial_sequence('agentstepper.conversation_messages', 'n'));
    RETURN NEW;
END $$;
CREATE TRIGGER conversation_messages_new BEFORE INSERT ON conversation_messages
    FOR EACH ROW EXECUTE FUNCTION number_message();

CREATE INDEX conversation_messages_of ON conversation_messages (conversation_id, n);
CREATE INDEX conversation_messages_changed ON conversation_messages (changed);
CREATE TRIGGER conversation_messages_changed BEFORE INSERT OR UPDATE ON conversation_messages
    FOR EACH ROW EXECUTE FUNCTION number_change();

CREATE TABLE session_cursors (
    session_id text COLLATE "C" NOT NULL,
    conversation_id text NOT NULL,
    last_message_id text NOT NULL,
    PRIMARY KEY (session_id, conversation_id)
);
