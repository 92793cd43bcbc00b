-- When dead ends in force warn, under the keys that an action is looked up by.
CREATE TABLE triggers (
  kind     TEXT    NOT NULL CHECK (kind IN ('command', 'error', 'symbol', 'path')),
  key      TEXT    NOT NULL,
  claim_id TEXT    NOT NULL,
  seq      INTEGER NOT NULL,
  PRIMARY KEY (kind, key, claim_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX triggers_claim ON triggers (claim_id);
