-- The lines of files that were cited as evidence, and the hash of what they held. What became of them is for readers to see.
CREATE TABLE cited_places (
  event_id  TEXT    PRIMARY KEY,
  worktree  TEXT    NOT NULL,   -- '' for the main one
  path      TEXT    NOT NULL,
  from_line INTEGER NOT NULL,
  to_line   INTEGER NOT NULL,
  sha256    TEXT    NOT NULL,
  seq       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX cited_places_worktree ON cited_places (worktree, seq);
