-- Whose posts a session hears.

ALTER TABLE conversation_participants ADD COLUMN hears TEXT NOT NULL DEFAULT 'users';
