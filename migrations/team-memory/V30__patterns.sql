-- The patterns in the work of the team, open and over.
CREATE TABLE patterns (
  id           TEXT    NOT NULL PRIMARY KEY,
  kind         TEXT    NOT NULL,
  about        TEXT    NOT NULL,
  episode      INTEGER NOT NULL,
  sessions     TEXT    NOT NULL,   -- JSON
  agents       TEXT    NOT NULL,   -- JSON
  task_id      TEXT,
  scopes       TEXT    NOT NULL,   -- JSON
  rests_on     TEXT    NOT NULL,   -- JSON: positions in the ledger
  repeats      TEXT    NOT NULL,   -- JSON
  opened_at    INTEGER NOT NULL,   -- epoch_ms
  opened_seq   INTEGER NOT NULL,
  closed_at    INTEGER,            -- epoch_ms; none while it is open
  why          TEXT,               -- the reason of the end; none where it was dismissed
  dismissed_by TEXT,
  reason       TEXT,
  seq          INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX patterns_opened ON patterns (opened_seq);
CREATE INDEX patterns_open ON patterns (opened_seq) WHERE closed_at IS NULL;
