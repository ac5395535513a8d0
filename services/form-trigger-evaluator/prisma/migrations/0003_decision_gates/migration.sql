-- What each gate compared, up to the one that failed, for whoever asks why (contracts, form-decisions.ts). Decisions that
-- were taken before know neither.
ALTER TABLE decisions
  ADD COLUMN trigger jsonb,
  ADD COLUMN gates jsonb NOT NULL DEFAULT '[]';
