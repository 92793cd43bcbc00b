-- Where in a repository things happen: the linked work tree, and the branch.
ALTER TABLE session_states ADD COLUMN worktree TEXT;   -- none for the main one
ALTER TABLE session_states ADD COLUMN branch TEXT;
ALTER TABLE tasks ADD COLUMN worktree TEXT;            -- where the files lie that are locked through it

-- A path means another file in each work tree ('' for the main one).
DROP TABLE event_files;
CREATE TABLE event_files (
  worktree TEXT    NOT NULL,
  path     TEXT    NOT NULL,
  event_id TEXT    NOT NULL,
  seq      INTEGER NOT NULL,
  PRIMARY KEY (worktree, path, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_files_event ON event_files (event_id);

DROP TABLE file_edits;
CREATE TABLE file_edits (
  worktree TEXT    NOT NULL,
  path     TEXT    NOT NULL,
  seq      INTEGER NOT NULL,
  PRIMARY KEY (worktree, path)
) STRICT, WITHOUT ROWID;
