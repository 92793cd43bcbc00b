-- The ledger position at which the claim was last said to be meant of other content than before. NULL: it is about the
-- content that it was made with.
ALTER TABLE claims ADD COLUMN content_seq INTEGER;
