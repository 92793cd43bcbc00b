-- The meanings of statements as a model has them, for search. The fold leaves this table empty; a job of the writer fills
-- it in the order of the claims, without gaps.
CREATE TABLE model_vectors (
  first_seq  INTEGER PRIMARY KEY,           -- of the first claim
  last_seq   INTEGER NOT NULL,              -- of the last claim
  model      TEXT    NOT NULL,              -- its name and the hash of its files
  dimensions INTEGER NOT NULL,              -- bytes of a vector
  seqs       BLOB    NOT NULL,              -- of the claims, eight bytes each, in order
  vectors    BLOB    NOT NULL               -- in the same order
) STRICT;
