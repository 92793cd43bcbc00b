-- The commits of the repository that the git job saw, and the files that they changed like an edit does.
CREATE TABLE commits (
  seq          INTEGER PRIMARY KEY,
  sha          TEXT    NOT NULL UNIQUE,
  author       TEXT,
  subject      TEXT,
  target       TEXT,
  committed_at INTEGER NOT NULL
) STRICT;
ALTER TABLE file_edits ADD COLUMN commit_seq INTEGER;   -- the commit that brought the edit
