/** Sentences of a receipt: what an erasure cannot reach (privacy.md, Erasure). */
export const NOT_COVERED = [
  'Files that were exported or downloaded before the erasure.',
  'Backups of Kafka, Postgres and Redis until they are rotated. Restored read models erase the users again by themselves.',
  'Copies of user-keys that are older than the erasure, together with the NEXTVISIT_SECRET_KEY of that time.',
  'Deleted rows in files of Postgres until vacuumed, its write-ahead log until recycled, and the append-only file of Redis until rewritten.',
  'Poison records: clear bytes that another program wrote to user-events without the gateway. Dead letters with the userId as key were emptied.',
  'Event names, trait slugs, ids and times of events in the log. They are not encrypted.',
  'The userId. It is a hash of the user name, so a guessed name can be compared with it.',
  'Totals and counters, such as usage, active users and counts of events. They name nobody.',
  'Systems that received data from your own servers or pages.',
] as const
