-- Up to where a session was told what is new: at its start everything, then what each prompt says was told with it.
ALTER TABLE session_states ADD COLUMN told_seq INTEGER NOT NULL DEFAULT 0;
