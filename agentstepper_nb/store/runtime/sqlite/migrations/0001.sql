-- What background agents keep (docs/design/0015-runtime.md). Columns have the names of protocol.runtime's
-- fields; those that hold JSON hold its text. `n` is the order in which rows came.

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value
);

-- Written to where only a sync is wanted.
INSERT INTO meta VALUES ('syncs', 0);

CREATE TABLE actions (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    created_at REAL NOT NULL,
    kind TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    urgency INTEGER NOT NULL,
    payload TEXT,
    metadata TEXT,
    status TEXT NOT NULL,
    owner TEXT,
    lease_until REAL,
    attempts INTEGER NOT NULL,
    idem_key TEXT UNIQUE,
    error TEXT,
    processed_at REAL,
    rank INTEGER                   -- among its session's: 0 creates, 1 controls, 2 the rest; NULL: it is over
);

CREATE INDEX actions_open ON actions (session_id, rank, urgency DESC, n) WHERE rank IS NOT NULL;
CREATE INDEX actions_claimed ON actions (owner, n) WHERE status = 'claimed';
CREATE INDEX actions_under_way ON actions (session_id) WHERE status = 'claimed';
CREATE INDEX actions_of_session ON actions (session_id, n);
CREATE INDEX actions_of_agent ON actions (agent_id, n);
-- By status: what is open and what failed is rare, and a claim changes neither.
CREATE INDEX actions_unfinished ON actions (n) WHERE rank IS NOT NULL;
CREATE INDEX actions_failed ON actions (n) WHERE status = 'failed';

-- The first open action of each session that has any, and who may claim it now. Derived from `actions` and
-- `holds` in the transaction that changes these, so that a claim looks at one row however many there are.
CREATE TABLE heads (
    session_id TEXT PRIMARY KEY,
    action INTEGER NOT NULL,       -- actions.n
    urgency INTEGER NOT NULL,
    owner TEXT NOT NULL,           -- who alone may claim it; '': anybody
    busy INTEGER NOT NULL,         -- 1: one of the session's is claimed
    due REAL                       -- when the lease that says so is over; NULL: none does
) WITHOUT ROWID;

CREATE INDEX heads_ready ON heads (owner, urgency DESC, action) WHERE busy = 0;
CREATE INDEX heads_due ON heads (due) WHERE due IS NOT NULL;

CREATE TABLE agent_state (
    n INTEGER PRIMARY KEY,
    agent_id TEXT NOT NULL,
    session_id TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    step_token TEXT,
    next_step_token TEXT,
    state TEXT,
    result TEXT,
    context TEXT,
    guidance TEXT,
    last_error TEXT,
    moniker TEXT NOT NULL,
    config TEXT,
    limits TEXT,
    conversation_id TEXT,
    run_id TEXT,
    step INTEGER NOT NULL,
    ran_s REAL NOT NULL,
    epoch INTEGER NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL
);

CREATE INDEX agent_state_by_age ON agent_state (created_at, n);
CREATE INDEX agent_state_of_agent ON agent_state (agent_id, created_at, n);
CREATE INDEX agent_state_begun ON agent_state (created_at)
    WHERE status IN ('running', 'paused', 'stopping');
CREATE INDEX agent_state_live ON agent_state (status, created_at, n);

-- Who has a session, beside its snapshot: leases are renewed often, and snapshots are large.
CREATE TABLE holds (
    session_id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    lease_until REAL NOT NULL
) WITHOUT ROWID;

CREATE INDEX holds_of_owner ON holds (owner);

CREATE TABLE agent_steps (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    created_at REAL NOT NULL,
    agent_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    event_seq INTEGER NOT NULL,
    step_token TEXT NOT NULL,
    next_step_token TEXT,
    status TEXT NOT NULL,
    text TEXT,
    data TEXT,
    state TEXT,
    guidance TEXT,
    notes TEXT,
    latency_ms REAL,
    error TEXT,
    UNIQUE (session_id, iteration, event_seq)
);

CREATE INDEX agent_steps_of_agent ON agent_steps (agent_id, session_id, iteration, event_seq);

CREATE TABLE conversations (
    n INTEGER PRIMARY KEY,
    conversation_id TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    created_by TEXT NOT NULL,
    status TEXT NOT NULL,
    tags TEXT NOT NULL,
    created_at REAL NOT NULL
);

CREATE INDEX conversations_by_age ON conversations (created_at, n);

CREATE TABLE conversation_participants (
    n INTEGER PRIMARY KEY,
    participant_id TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    user_id TEXT,
    agent_id TEXT,
    session_id TEXT,
    role TEXT NOT NULL,
    delivery TEXT NOT NULL,
    joined_at REAL NOT NULL,
    left_at REAL
);

CREATE INDEX conversation_participants_of ON conversation_participants (conversation_id, n);

CREATE TABLE conversation_messages (
    n INTEGER PRIMARY KEY,
    message_id TEXT NOT NULL UNIQUE,
    conversation_id TEXT NOT NULL,
    created_at REAL NOT NULL,
    sender_type TEXT NOT NULL,
    user_id TEXT,
    agent_id TEXT,
    session_id TEXT,
    text TEXT NOT NULL,
    data TEXT,
    status TEXT,
    event_type TEXT,
    iteration INTEGER,
    step_token TEXT,
    next_step_token TEXT,
    notes TEXT
);

CREATE INDEX conversation_messages_of ON conversation_messages (conversation_id, n);

CREATE TABLE session_cursors (
    session_id TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    last_message_id TEXT NOT NULL,
    PRIMARY KEY (session_id, conversation_id)
) WITHOUT ROWID;
