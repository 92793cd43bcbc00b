-- The ledger: an append-only, hash-chained list of events. Columns stand in the order in which they are hashed.
CREATE TABLE events (
  seq             INTEGER PRIMARY KEY,   -- 1.. without gaps: the place in the total order
  id              TEXT    NOT NULL UNIQUE,
  type            TEXT    NOT NULL,      -- concept.past_tense
  agent           TEXT    NOT NULL,      -- canonical
  session         TEXT,
  trace_id        TEXT,
  causation_id    TEXT    NOT NULL,      -- the command that caused it
  at_ms           INTEGER NOT NULL,      -- epoch milliseconds, read once per command
  idempotency_key TEXT,                  -- on the first event of a command's batch only
  min_reader      INTEGER NOT NULL,      -- an older binary stops folding here
  payload_hash    BLOB    NOT NULL,      -- HMAC-SHA-256 of the payload under its salt
  prev_hash       BLOB    NOT NULL,
  hash            BLOB    NOT NULL
) STRICT;

CREATE INDEX events_causation ON events (causation_id);
CREATE UNIQUE INDEX events_key ON events (agent, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX events_type ON events (type);
CREATE INDEX events_agent ON events (agent);

-- Kept apart, so that erasing a payload and its salt leaves a chain that verifies.
CREATE TABLE payloads (
  seq     INTEGER PRIMARY KEY REFERENCES events (seq),
  salt    BLOB NOT NULL,
  payload TEXT NOT NULL                  -- RFC 8785 JSON
) STRICT;

CREATE TRIGGER events_are_never_updated BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'events are immutable'); END;

CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'events are immutable'); END;

-- INSERT OR REPLACE deletes without firing delete triggers unless recursive_triggers is on, so the
-- insert itself is refused. The next seq is the only one that fits.
CREATE TRIGGER events_are_only_appended BEFORE INSERT ON events
BEGIN
  SELECT RAISE(ABORT, 'events are only appended: seq is not the next one')
    WHERE NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM events);
  SELECT RAISE(ABORT, 'events are only appended: id is taken')
    WHERE EXISTS (SELECT 1 FROM events WHERE id = NEW.id);
  SELECT RAISE(ABORT, 'events are only appended: idempotency key is taken')
    WHERE NEW.idempotency_key IS NOT NULL
      AND EXISTS (SELECT 1 FROM events WHERE agent = NEW.agent AND idempotency_key = NEW.idempotency_key);
END;

CREATE TRIGGER payloads_are_never_updated BEFORE UPDATE ON payloads
BEGIN SELECT RAISE(ABORT, 'payloads are immutable'); END;

CREATE TRIGGER payloads_are_never_replaced BEFORE INSERT ON payloads
BEGIN
  SELECT RAISE(ABORT, 'payloads are immutable')
    WHERE EXISTS (SELECT 1 FROM payloads WHERE seq = NEW.seq);
END;

CREATE VIEW schema_migrations AS
  SELECT version, applied_on AS applied_at, name AS description FROM refinery_schema_history;
