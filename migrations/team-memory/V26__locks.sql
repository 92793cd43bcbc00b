-- What sessions lock without a task, each scope by itself. A lock that is over stays until the next one is taken.
CREATE TABLE locks (
  session    TEXT    NOT NULL,
  scope      TEXT    NOT NULL,
  agent      TEXT    NOT NULL,
  why        TEXT    NOT NULL,
  lock_until INTEGER NOT NULL,   -- epoch_ms
  worktree   TEXT,               -- none for the main one
  id         TEXT    NOT NULL,   -- of the event that took it
  seq        INTEGER NOT NULL,
  PRIMARY KEY (session, scope)
) STRICT, WITHOUT ROWID;
CREATE INDEX locks_until ON locks (lock_until);
