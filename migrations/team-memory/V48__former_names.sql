-- The seat of a session, the name that its pane goes by since, and the names it had before, with commas between them.
ALTER TABLE session_states ADD COLUMN seat TEXT;
ALTER TABLE session_states ADD COLUMN speaks_as TEXT;
ALTER TABLE session_states ADD COLUMN formerly TEXT;
CREATE INDEX session_states_agent ON session_states (agent);
CREATE INDEX session_states_renamed ON session_states (started_seq) WHERE formerly IS NOT NULL;
