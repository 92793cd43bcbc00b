-- The search index (spec 12). Its rowid is the ledger position at which a claim was created: that never
-- changes, and it rises, so that the index only grows at its end. Text comes in normalised (domain/tokens.rs)
-- and is split at spaces: `ascii` takes every other character as it is, where `unicode61` would tear Hindi and
-- Thai at their vowel signs and drop letters newer than Unicode 6.1.
CREATE VIRTUAL TABLE claim_index USING fts5(
  t,                                   -- tokens of the statement, in their order
  s,                                   -- what a search can be limited to, as a letter and a hash each
  tokenize = 'ascii', content = '', contentless_delete = 1
);
INSERT INTO claim_index (claim_index, rank) VALUES ('rank', 'bm25(1.0, 0.0)');
INSERT INTO claim_index (claim_index, rank) VALUES ('secure-delete', 1);

-- How many claims hold a token.
CREATE VIRTUAL TABLE claim_vocabulary USING fts5vocab('claim_index', 'col');

-- The tokens in their order, for the score; `previous` is the claim its author made before in that session.
CREATE TABLE claim_tokens (
  created_seq INTEGER PRIMARY KEY,
  tokens      TEXT NOT NULL,
  previous    INTEGER
) STRICT;

CREATE TABLE claim_tokens_total (
  id     INTEGER PRIMARY KEY CHECK (id = 1),
  claims INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  seq    INTEGER NOT NULL
) STRICT;
