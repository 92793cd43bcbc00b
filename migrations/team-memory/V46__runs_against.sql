-- Runs that contradict a claim, for the claims that rest on agreement.
CREATE INDEX claim_evidence_against ON claim_evidence (claim_id, seq) WHERE relation = 'contradicts' AND run_id IS NOT NULL;
