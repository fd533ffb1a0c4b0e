-- Which rows changed, in the order of the changes: what a projection reads (docs/design/0024-fleet.md). Of
-- each row the newest change alone stands here, and none of a row that is gone: the table is as long as the
-- tables that it numbers, whether anybody reads it or not. A number is never given twice.

CREATE TABLE changes (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,            -- the field of protocol.runtime_store_messages.ChangedRows
    key INTEGER NOT NULL,          -- the row's n
    UNIQUE (kind, key)
);

INSERT INTO changes (kind, key) SELECT 'conversations', n FROM conversations ORDER BY n;
INSERT INTO changes (kind, key) SELECT 'participants', n FROM conversation_participants ORDER BY n;
INSERT INTO changes (kind, key) SELECT 'states', n FROM agent_state ORDER BY n;
INSERT INTO changes (kind, key) SELECT 'actions', n FROM actions ORDER BY n;
INSERT INTO changes (kind, key) SELECT 'steps', n FROM agent_steps ORDER BY n;
INSERT INTO changes (kind, key) SELECT 'messages', n FROM conversation_messages ORDER BY n;

CREATE TRIGGER conversations_added AFTER INSERT ON conversations BEGIN
    INSERT INTO changes (kind, key) VALUES ('conversations', new.n);
END;
CREATE TRIGGER participants_added AFTER INSERT ON conversation_participants BEGIN
    INSERT INTO changes (kind, key) VALUES ('participants', new.n);
END;
CREATE TRIGGER states_added AFTER INSERT ON agent_state BEGIN
    INSERT INTO changes (kind, key) VALUES ('states', new.n);
END;
CREATE TRIGGER actions_added AFTER INSERT ON actions BEGIN
    INSERT INTO changes (kind, key) VALUES ('actions', new.n);
END;
CREATE TRIGGER steps_added AFTER INSERT ON agent_steps BEGIN
    INSERT INTO changes (kind, key) VALUES ('steps', new.n);
END;
CREATE TRIGGER messages_added AFTER INSERT ON conversation_messages BEGIN
    INSERT INTO changes (kind, key) VALUES ('messages', new.n);
END;

-- Steps and messages never change. A lease that is renewed is no change of its action.
CREATE TRIGGER conversations_changed AFTER UPDATE ON conversations BEGIN
    INSERT OR REPLACE INTO changes (kind, key) VALUES ('conversations', new.n);
END;
CREATE TRIGGER participants_changed AFTER UPDATE ON conversation_participants BEGIN
    INSERT OR REPLACE INTO changes (kind, key) VALUES ('participants', new.n);
END;
CREATE TRIGGER states_changed AFTER UPDATE ON agent_state BEGIN
    INSERT OR REPLACE INTO changes (kind, key) VALUES ('states', new.n);
END;
CREATE TRIGGER actions_changed AFTER UPDATE OF status, owner ON actions BEGIN
    INSERT OR REPLACE INTO changes (kind, key) VALUES ('actions', new.n);
END;

CREATE TRIGGER conversations_deleted AFTER DELETE ON conversations BEGIN
    DELETE FROM changes WHERE kind = 'conversations' AND key = old.n;
END;
CREATE TRIGGER participants_deleted AFTER DELETE ON conversation_participants BEGIN
    DELETE FROM changes WHERE kind = 'participants' AND key = old.n;
END;
CREATE TRIGGER states_deleted AFTER DELETE ON agent_state BEGIN
    DELETE FROM changes WHERE kind = 'states' AND key = old.n;
END;
CREATE TRIGGER actions_deleted AFTER DELETE ON actions BEGIN
    DELETE FROM changes WHERE kind = 'actions' AND key = old.n;
END;
CREATE TRIGGER steps_deleted AFTER DELETE ON agent_steps BEGIN
    DELETE FROM changes WHERE kind = 'steps' AND key = old.n;
END;
CREATE TRIGGER messages_deleted AFTER DELETE ON conversation_messages BEGIN
    DELETE FROM changes WHERE kind = 'messages' AND key = old.n;
END;
