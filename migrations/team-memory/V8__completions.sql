-- What completions ask for, once each: `seq` is the event that named it first.
CREATE TABLE scopes (
  scope TEXT PRIMARY KEY,
  seq   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  session TEXT PRIMARY KEY,
  seq     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
