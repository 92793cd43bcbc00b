-- The meanings of statements as vectors, for search. The newest ones have a row each. As soon as there are enough, they
-- become one block, so that a search reads few rows.
CREATE TABLE vectors (
  place       INTEGER PRIMARY KEY,
  created_seq INTEGER NOT NULL,             -- of the claim
  vector      BLOB    NOT NULL
) STRICT;

CREATE TABLE vector_blocks (
  first_seq INTEGER PRIMARY KEY,            -- of the first claim
  seqs      BLOB    NOT NULL,               -- of the claims, eight bytes each, in order
  vectors   BLOB    NOT NULL                -- in the same order
) STRICT;

-- The name of the table of word pieces that these vectors were made with.
ALTER TABLE projection ADD COLUMN model TEXT;
