-- Rules of [policy] that let more be written, or let agents decide more, than before; until a change tightens the rule.
CREATE TABLE loosened_rules (
    seq        INTEGER NOT NULL,
    event_id   TEXT NOT NULL,
    rule       TEXT NOT NULL,
    now        TEXT NOT NULL,
    was        TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    PRIMARY KEY (seq, rule)
) STRICT, WITHOUT ROWID;
CREATE INDEX loosened_rules_rule ON loosened_rules (rule);
