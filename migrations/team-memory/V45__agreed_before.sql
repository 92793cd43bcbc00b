-- What the files of a claim held when an agent supported it, and whether the last `still` was of other content.
ALTER TABLE consensus ADD COLUMN saw TEXT;
ALTER TABLE consensus ADD COLUMN before_change INTEGER NOT NULL DEFAULT 0;
-- Whether the agents, or the silence, that agreed to the claim did so before the content that it is about now.
ALTER TABLE claims ADD COLUMN agreed_before INTEGER NOT NULL DEFAULT 0;
