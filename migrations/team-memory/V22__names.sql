-- Globs among the scopes of claims, under the directory that they begin with.
CREATE TABLE scope_globs (
  dir  TEXT NOT NULL,
  glob TEXT NOT NULL,
  PRIMARY KEY (dir, glob)
) STRICT, WITHOUT ROWID;
