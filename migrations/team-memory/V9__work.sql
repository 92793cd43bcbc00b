-- Who works on what. Ids are those of the events that made the rows.
CREATE TABLE plans (
  id         TEXT PRIMARY KEY,
  title      TEXT NOT NULL,
  sot_path   TEXT,
  added_by   TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  seq        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE phases (
  id         TEXT PRIMARY KEY,
  plan_id    TEXT NOT NULL,
  title      TEXT NOT NULL,
  place      INTEGER NOT NULL,
  seq        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX phases_plan ON phases (plan_id, place, seq);

CREATE TABLE tasks (
  id             TEXT PRIMARY KEY,
  phase_id       TEXT,
  parent_task_id TEXT,
  title          TEXT NOT NULL,
  status         TEXT NOT NULL,
  depends_on     TEXT NOT NULL,
  scopes         TEXT NOT NULL,
  added_by       TEXT NOT NULL,
  note           TEXT,
  holder         TEXT,
  session        TEXT,
  token          INTEGER NOT NULL DEFAULT 0,
  lease_ms       INTEGER,
  lease_until    INTEGER,
  file_locks     TEXT NOT NULL DEFAULT '[]',
  created_at     INTEGER NOT NULL,
  touched_at     INTEGER NOT NULL,
  created_seq    INTEGER NOT NULL,
  seq            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tasks_status ON tasks (status, created_seq);
CREATE INDEX tasks_phase ON tasks (phase_id, created_seq);
CREATE INDEX tasks_held ON tasks (session) WHERE session IS NOT NULL;

-- Where the team looks ('' for the session) and where a session does.
CREATE TABLE trajectories (
  session    TEXT PRIMARY KEY,
  intent     TEXT NOT NULL,
  plan_id    TEXT,
  phase_id   TEXT,
  task_ids   TEXT NOT NULL,
  agent      TEXT NOT NULL,
  shifted_at INTEGER NOT NULL,
  seq        INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Sessions that started. The summary is of what fell out of the dialogue, oldest first.
CREATE TABLE session_states (
  session        TEXT PRIMARY KEY,
  agent          TEXT NOT NULL,
  client         TEXT,
  source         TEXT NOT NULL,
  parent_session TEXT,
  started_at     INTEGER NOT NULL,
  last_seen_at   INTEGER NOT NULL,
  ended_at       INTEGER,
  end_cause      TEXT,
  prompt_seq     INTEGER NOT NULL DEFAULT 0,
  summary        TEXT NOT NULL DEFAULT '[]',
  started_seq    INTEGER NOT NULL,
  seq            INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_states_alive ON session_states (started_seq) WHERE ended_at IS NULL;
CREATE INDEX session_states_started ON session_states (started_seq);

-- The last messages of each session, whole.
CREATE TABLE turns (
  session TEXT NOT NULL,
  seq     INTEGER NOT NULL,
  role    TEXT NOT NULL,
  text    TEXT NOT NULL,
  at      INTEGER NOT NULL,
  PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

-- Every value an anchor ever held; the one without a successor holds.
CREATE TABLE anchors (
  key           TEXT NOT NULL,
  seq           INTEGER NOT NULL,
  value         TEXT NOT NULL,
  agent         TEXT NOT NULL,
  session       TEXT,
  saved_at      INTEGER NOT NULL,
  superseded_by INTEGER,
  PRIMARY KEY (key, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX anchors_held ON anchors (seq) WHERE superseded_by IS NULL;

CREATE TABLE splits (
  child         TEXT PRIMARY KEY,
  parent        TEXT NOT NULL,
  reason        TEXT NOT NULL,
  agent         TEXT NOT NULL,
  used_tokens   INTEGER,
  window_tokens INTEGER,
  turn0         TEXT NOT NULL,
  at            INTEGER NOT NULL,
  seq           INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX splits_parent ON splits (parent, seq);

CREATE TABLE belief_snapshots (
  seq      INTEGER PRIMARY KEY,
  id       TEXT NOT NULL,
  agent    TEXT NOT NULL,
  session  TEXT,
  beliefs  TEXT NOT NULL,
  taken_at INTEGER NOT NULL
) STRICT;
CREATE INDEX belief_snapshots_agent ON belief_snapshots (agent, seq);
CREATE INDEX belief_snapshots_session ON belief_snapshots (session, seq) WHERE session IS NOT NULL;

-- Warnings right before an action, once in a turn; the guard is a negative claim, or a task with locks.
CREATE TABLE firings (
  session  TEXT NOT NULL,
  guard TEXT NOT NULL,
  seq      INTEGER NOT NULL,
  matched  TEXT NOT NULL,
  agent    TEXT NOT NULL,
  fired_at INTEGER NOT NULL,
  PRIMARY KEY (session, guard, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX firings_guard ON firings (guard, seq);

-- Files a session touched, with the last time it did.
CREATE TABLE session_files (
  session TEXT NOT NULL,
  path    TEXT NOT NULL,
  seq     INTEGER NOT NULL,
  PRIMARY KEY (session, path)
) STRICT, WITHOUT ROWID;

ALTER TABLE claims ADD COLUMN origin_task_id TEXT;
