-- Agents that were sent out. How each is doing stands with its run, and what it found with its task.
CREATE TABLE researchers (
  run_id     TEXT PRIMARY KEY,
  child      TEXT NOT NULL,
  parent     TEXT NOT NULL,
  task_id    TEXT NOT NULL,
  prompt     TEXT NOT NULL,
  profile    TEXT NOT NULL,
  agent      TEXT NOT NULL,
  spawned_by TEXT NOT NULL,
  spawned_at INTEGER NOT NULL,
  seq        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX researchers_child ON researchers (child, seq);
CREATE INDEX researchers_parent ON researchers (parent, seq);
