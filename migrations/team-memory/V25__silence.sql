-- Claims that silence may still confirm are few among those that are proposed.
CREATE INDEX claims_silence ON claims (status, objection_until, id) WHERE objection_until IS NOT NULL AND asks IS NULL;
