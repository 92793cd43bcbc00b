-- A claim is about a version: what its files held, and when that was said.
ALTER TABLE claims ADD COLUMN versions TEXT;            -- what they held at its creation, or at the last `still`, as JSON
ALTER TABLE claims ADD COLUMN affirmed_seq INTEGER;     -- the last `still`; none where it was never said
ALTER TABLE claims ADD COLUMN mended INTEGER NOT NULL DEFAULT 0;  -- whether its successor mends what it is about
ALTER TABLE file_edits ADD COLUMN agent TEXT NOT NULL DEFAULT '';
ALTER TABLE file_edits ADD COLUMN session TEXT;
ALTER TABLE experiments ADD COLUMN undecided TEXT;      -- why it says nothing about its claim although it ended
