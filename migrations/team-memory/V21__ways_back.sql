-- What agents proposed against claims that the operator stands by, until the operator settles it.
CREATE TABLE override_proposals (
  seq         INTEGER PRIMARY KEY,
  event_id    TEXT    NOT NULL,
  claim_id    TEXT    NOT NULL,
  asks        TEXT    NOT NULL CHECK (asks IN ('deprecate', 'supersede', 'decide', 'challenge')),
  proposed_by TEXT    NOT NULL,
  reason      TEXT,
  successor   TEXT,              -- the claim that would take its place
  statement   TEXT,              -- what the decision in its place would say
  target      TEXT,
  proposed_at INTEGER NOT NULL   -- epoch_ms
) STRICT;
CREATE INDEX override_proposals_claim ON override_proposals (claim_id);

-- The name an alias was joined to: what stands for it is found by going up.
ALTER TABLE targets ADD COLUMN joined_to TEXT;

-- When a plan was given up, and why.
ALTER TABLE plans ADD COLUMN abandoned_at INTEGER;
ALTER TABLE plans ADD COLUMN abandoned_for TEXT;

-- The policy in the words of config.toml: more than the quorum can be loosened.
ALTER TABLE loosened_policies RENAME COLUMN quorum TO policy;
