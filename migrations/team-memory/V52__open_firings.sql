-- A firing stays open until the turn ends where it is unclear whether the command ran.
DROP INDEX firings_open;
CREATE INDEX firings_open ON firings (session) WHERE did IS NOT NULL AND outcome_seq IS NULL;
