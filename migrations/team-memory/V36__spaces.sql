-- The person in whose space an anchor is. NULL: the space of the project.
ALTER TABLE anchors ADD COLUMN user TEXT;
DROP INDEX anchors_held;
CREATE INDEX anchors_held ON anchors (user, seq) WHERE superseded_by IS NULL;

-- Items that crossed into another space. The source is shown no more.
CREATE TABLE promotions (
  from_id     TEXT PRIMARY KEY,
  to_id       TEXT NOT NULL,
  source_seq  INTEGER NOT NULL,
  source      TEXT NOT NULL,
  authority   TEXT NOT NULL,
  event_type  TEXT NOT NULL,
  reason      TEXT NOT NULL,
  why         TEXT NOT NULL,
  agent       TEXT NOT NULL,
  at          INTEGER NOT NULL,
  seq         INTEGER NOT NULL,
  user        TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX promotions_to ON promotions (to_id);

-- The phases of a space after its first, which begins with the space.
CREATE TABLE memory_phases (
  space   TEXT NOT NULL,
  owner   TEXT NOT NULL,
  number  INTEGER NOT NULL,
  name    TEXT,
  reason  TEXT NOT NULL,
  why     TEXT,
  agent   TEXT NOT NULL,
  session TEXT,
  at      INTEGER NOT NULL,
  seq     INTEGER NOT NULL,
  PRIMARY KEY (space, owner, number)
) STRICT, WITHOUT ROWID;
