/** Sentences of a receipt: what an erasure cannot reach (privacy.md, Erasure). */
export const NOT_COVERED = [
  'Files that were exported or downloaded before the erasure.',
  'Answers that servers and pages received before the erasure, and logs of other programs.',
  'Storage of browsers: events that were not sent, for up to an hour, and forms that were not shown, for up to 30 days.',
  'Backups of Kafka, Postgres and Redis until they are rotated. Restored read models erase the users again by themselves.',
  'Files of Kafka brokers that were down. The leader of each partition no longer has the keys; a broker that returns deletes them by itself.',
  'Copies of the keys of users from before the erasure, in user-keys, Postgres or Redis, together with the NEXTVISIT_SECRET_KEY of that time and a copy of the log.',
  'Tables of a replay that was interrupted or that kept replaced tables, in schemas named *_replay and *_replaced, until an operator drops them.',
  'Deleted rows in files of Postgres until vacuumed, its write-ahead log until recycled, and the append-only file of Redis until rewritten.',
  'Poison records: clear bytes that another program wrote to user-events without the gateway. Dead letters with the userId as key were emptied.',
  'Event names, trait slugs, names of answered elements, ids and times in the log. They are not encrypted.',
  'The userId. It is a hash of the user name, so a guessed name can be compared with it.',
  'Totals and counters, such as usage, active users and counts of events. They name nobody.',
  'Systems that received data from your own servers or pages, or by a webhook.',
] as const
