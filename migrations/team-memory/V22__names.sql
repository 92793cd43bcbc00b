-- Globs among the scopes of claims, under the directory that they begin with.
CREATE TABLE scope_globs (
  dir  TEXT NOT NULL,
  glob TEXT NOT NULL,
  PRIMARY KEY (dir, glob)
) STRICT, WITHOUT ROWID;

-- Short names, counted in the order of the ledger: T7 is the seventh task, P1 the first plan or phase. The id stands
-- reversed too, so that an index finds its end.
CREATE TABLE names (
  letter   TEXT NOT NULL,
  number   INTEGER NOT NULL,
  id       TEXT NOT NULL,
  reversed TEXT NOT NULL,
  PRIMARY KEY (letter, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX names_id ON names (id);
CREATE INDEX names_end ON names (reversed);

-- What a title does not say.
ALTER TABLE tasks ADD COLUMN description TEXT;
ALTER TABLE plans ADD COLUMN description TEXT;
CREATE INDEX tasks_made ON tasks (created_seq);
