-- The agent that a task is meant for.
ALTER TABLE tasks ADD COLUMN meant_for TEXT;
