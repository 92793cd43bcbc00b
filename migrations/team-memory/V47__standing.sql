-- What the rank of a confirmed claim depends on, so that a first context reads no whole rows to choose among them.
CREATE INDEX claims_standing ON claims (created_seq, status, confidence, scopes, id) WHERE status = 'confirmed';
