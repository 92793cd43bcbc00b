-- Fewer pages to write for a claim. What lists are limited to and never changes (type, owner, session, scopes)
-- stands in claim_index already, so it needs no index of its own.
DROP INDEX claims_owner;
DROP INDEX claims_type;
DROP INDEX claims_session;
DROP TABLE claim_scopes;
CREATE VIEW claim_scopes AS
  SELECT c.id AS claim_id, s.value AS scope, c.created_seq AS seq FROM claims c, json_each(c.scopes) s;

-- A claim's creation is in its row: only the moves after it have rows of their own.
ALTER TABLE claim_status_history RENAME TO claim_moves;
CREATE VIEW claim_status_history AS
  SELECT id AS claim_id, id, NULL AS old_status, 'proposed' AS new_status, owner AS changed_by, NULL AS reason,
         created_at AS changed_at, created_seq AS seq
    FROM claims
  UNION ALL
  SELECT claim_id, id, old_status, new_status, changed_by, reason, changed_at, seq FROM claim_moves;

-- The tokens in their order, for the score, and the claim its author made before in that session.
DROP TABLE claim_tokens;
ALTER TABLE claims ADD COLUMN tokens TEXT NOT NULL DEFAULT '';
ALTER TABLE claims ADD COLUMN previous INTEGER;

-- How much text there is, beside how far it is folded.
DROP TABLE claim_tokens_total;
ALTER TABLE projection ADD COLUMN claims INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projection ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;

-- The newest are asked for.
CREATE INDEX rejected_commands_seq ON rejected_commands (seq);
