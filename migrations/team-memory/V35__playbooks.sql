-- What the miners proposed: sequences of steps that ended well, and hypotheses about errors that come again.
CREATE TABLE playbooks (
  id          TEXT    PRIMARY KEY,
  title       TEXT    NOT NULL,             -- its short name in words
  status      TEXT    NOT NULL,             -- proposed, accepted or dismissed
  steps       TEXT    NOT NULL,             -- JSON
  evidence    TEXT    NOT NULL,             -- JSON: ledger positions
  tasks       TEXT    NOT NULL,             -- JSON: the tasks that ended well
  of_tasks    INTEGER NOT NULL,             -- all tasks with the steps
  sessions    INTEGER NOT NULL,
  days        INTEGER NOT NULL,
  settled_by  TEXT,
  reason      TEXT,
  helpful     INTEGER NOT NULL DEFAULT 0,
  harmful     INTEGER NOT NULL DEFAULT 0,
  proposed_at INTEGER NOT NULL,             -- epoch_ms
  changed_at  INTEGER NOT NULL,             -- of the last settlement
  used_at     INTEGER NOT NULL,             -- of the last task that followed it, or of the last settlement
  created_seq INTEGER NOT NULL,
  seq         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX playbooks_created ON playbooks (created_seq);

CREATE TABLE reflections (
  error             TEXT    PRIMARY KEY,
  structural        TEXT    NOT NULL,       -- a claim
  environmental     TEXT    NOT NULL,       -- a claim
  evidence          TEXT    NOT NULL,       -- JSON: ledger positions
  failures          INTEGER NOT NULL DEFAULT 0,
  passes            INTEGER NOT NULL DEFAULT 0,
  passes_after_edit INTEGER NOT NULL DEFAULT 0,
  changed_at        INTEGER NOT NULL,       -- epoch_ms
  seq               INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX reflections_seq ON reflections (seq);
