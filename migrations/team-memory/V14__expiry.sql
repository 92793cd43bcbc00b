-- Claims whose time may be over while no writer ends them: every read looks at the first of them.
CREATE INDEX claims_expiry ON claims (created_at + ttl_hours * 3600000)
  WHERE ttl_hours IS NOT NULL AND status <> 'deprecated';
