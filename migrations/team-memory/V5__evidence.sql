-- How a claim's evidence came about, and whether the files it rests on changed since.
ALTER TABLE claim_evidence ADD COLUMN grade TEXT NOT NULL DEFAULT 'asserted'
  CHECK (grade IN ('asserted', 'observed', 'reproduced'));
ALTER TABLE claim_evidence ADD COLUMN stale_seq INTEGER;   -- the edit that made it stale
CREATE INDEX claim_evidence_ref ON claim_evidence (evidence_ref);
CREATE INDEX claim_evidence_stale ON claim_evidence (stale_seq) WHERE stale_seq IS NOT NULL;

-- Folded from the supporting evidence of a claim, like its counts.
ALTER TABLE claims ADD COLUMN grade TEXT NOT NULL DEFAULT 'asserted'
  CHECK (grade IN ('asserted', 'observed', 'reproduced'));
ALTER TABLE claims ADD COLUMN reproduced INTEGER NOT NULL DEFAULT 0;
ALTER TABLE claims ADD COLUMN stale INTEGER NOT NULL DEFAULT 0;   -- 1: what supports it is about older files

-- The files that an event names, and when each file was last reported as edited.
CREATE TABLE event_files (
  path     TEXT    NOT NULL,
  event_id TEXT    NOT NULL,
  seq      INTEGER NOT NULL,
  PRIMARY KEY (path, event_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX event_files_event ON event_files (event_id);

CREATE TABLE file_edits (
  path TEXT PRIMARY KEY,
  seq  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
