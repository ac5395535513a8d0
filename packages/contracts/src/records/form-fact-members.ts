import { Instant, SlugId, Uuid } from '../primitives.ts'

/** Members of every record on `form-events`: each is a change of a user's queue. */
export const formFactMembers = {
  id: Uuid.describe('As in `ce_id`. Stable for each change of the queue: repeats are dropped by it.'),
  organization: SlugId.describe('Whose project it is.'),
  project: SlugId.describe('Where it happened.'),
  userId: Uuid.describe('Whose queue it is. The Kafka key.'),
  queuedId: Uuid.describe('The row of the queue: UUIDv5 of record id, received and form id.'),
  formId: SlugId.describe('The form.'),
  at: Instant.describe('When it happened, by the instant of the record or tick that decided it.'),
}
