-- Changes of the rules that confirm a claim with less than before, until a change tightens them.
CREATE TABLE loosened_policies (
    seq        INTEGER PRIMARY KEY,
    event_id   TEXT NOT NULL,
    quorum     TEXT NOT NULL,
    was        TEXT NOT NULL,
    changed_at INTEGER NOT NULL
) STRICT;
