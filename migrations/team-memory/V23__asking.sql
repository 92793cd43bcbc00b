-- Agents that are asked for a position and did not answer yet.
CREATE TABLE questions (
  claim_id   TEXT    NOT NULL,
  agent      TEXT    NOT NULL,   -- the agent that is asked
  instead_of TEXT,               -- the claim that it supported and this one replaced
  asked_at   INTEGER NOT NULL,   -- epoch_ms
  seq        INTEGER NOT NULL,
  PRIMARY KEY (claim_id, agent)
) STRICT, WITHOUT ROWID;
CREATE INDEX questions_agent ON questions (agent, seq);
CREATE INDEX questions_seq ON questions (seq, agent);

-- What an agent took note of: refusals and changes of the rules.
CREATE TABLE seen_notices (
  id      TEXT PRIMARY KEY,
  seen_by TEXT    NOT NULL,
  seen_at INTEGER NOT NULL,      -- epoch_ms
  seq     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

ALTER TABLE claims ADD COLUMN asks TEXT;                 -- a JSON list of agents
ALTER TABLE claims ADD COLUMN objection_until INTEGER;   -- epoch_ms
ALTER TABLE claims ADD COLUMN by_silence INTEGER NOT NULL DEFAULT 0;
