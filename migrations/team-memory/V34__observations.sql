-- The actions that hooks saw, one row an action, for the miners. Bounded: the last 30 days or 200,000 rows.
CREATE TABLE observations (
  n             INTEGER PRIMARY KEY,   -- counts up without gaps
  seq           INTEGER NOT NULL,
  at            INTEGER NOT NULL,      -- epoch_ms
  agent         TEXT    NOT NULL,
  session       TEXT,
  task          TEXT,                  -- the task that the session held then
  worktree      TEXT,                  -- none for the main one
  kind          TEXT    NOT NULL,      -- command, edit or tool
  action        TEXT    NOT NULL,      -- the normalised commands, the changed files, or the tool, one a line
  exit_code     INTEGER,
  failed        INTEGER NOT NULL,
  error         TEXT,                  -- the error signature
  output_sha256 TEXT
) STRICT;
CREATE INDEX observations_task ON observations (task, n) WHERE task IS NOT NULL;
CREATE INDEX observations_error ON observations (error, n) WHERE error IS NOT NULL;
