-- Who last asked for a retry of a dead letter or discarded it, and when. Dead letters are never deleted: what became of a
-- record can be told as long as the record is kept.
ALTER TABLE dead_letters ADD COLUMN decided_by text, ADD COLUMN decided_at timestamptz;

-- Those that somebody has to look at: for the gauge and the first page of the list.
CREATE INDEX dead_letters_open ON dead_letters (projection, state) WHERE state IN ('dead', 'retry');
