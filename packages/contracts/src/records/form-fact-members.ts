import { Instant, SlugId, Uuid } from '../primitives.ts'

/** Members of every record on `form-events`. Each record is a change of a user's queue. */
export const formFactMembers = {
  id: Uuid.describe('As in `ce_id`. Stable for each change of the queue, so readers drop repeats by it.'),
  organization: SlugId.describe('The organization of the project.'),
  project: SlugId.describe('The project of the user.'),
  userId: Uuid.describe('The user of the queue. The Kafka key.'),
  queuedId: Uuid.describe('The row of the queue: UUIDv5 of record id, received and form id.'),
  formId: SlugId.describe('The form.'),
  at: Instant.describe('Time of the change: the instant of the record or tick that decided it.'),
}
