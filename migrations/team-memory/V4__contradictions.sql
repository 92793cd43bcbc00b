-- Pairs that contradict each other, and what ended them. A contradiction goes by the id of the event that
-- reported it.
CREATE TABLE belief_contradictions (
  id          TEXT PRIMARY KEY,
  kind        TEXT    NOT NULL
    CHECK (kind IN ('position', 'polarity', 'value', 'target', 'explicit', 'supersession')),
  tier        TEXT    NOT NULL CHECK (tier IN ('strong', 'weak')),
  left_claim  TEXT    NOT NULL,
  left_agent  TEXT    NOT NULL,
  right_claim TEXT    NOT NULL,
  right_agent TEXT    NOT NULL,
  status      TEXT    NOT NULL CHECK (status IN ('open', 'resolved')),
  cause       TEXT,
  detected_at INTEGER NOT NULL,   -- epoch_ms
  resolved_at INTEGER,            -- epoch_ms
  created_seq INTEGER NOT NULL,
  seq         INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX belief_contradictions_status ON belief_contradictions (status, tier, created_seq);
CREATE INDEX belief_contradictions_left ON belief_contradictions (left_claim, created_seq);
CREATE INDEX belief_contradictions_right ON belief_contradictions (right_claim, created_seq);

-- Every name of a target, and the one that stands for it.
CREATE TABLE targets (
  name      TEXT PRIMARY KEY,
  canonical TEXT    NOT NULL,
  seq       INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX targets_canonical ON targets (canonical);

-- One claim may take the place of several: they name it, it does not name them.
ALTER TABLE claims DROP COLUMN supersedes;
CREATE INDEX claims_superseded_by ON claims (superseded_by) WHERE superseded_by IS NOT NULL;
