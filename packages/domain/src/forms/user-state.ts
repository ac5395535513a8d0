import type { UserActivity } from '../users/activity.ts'
import type { Queue } from './queue/queue.ts'

/** A user as the rules of forms read it, after every record that was answered before (forms.md, When a record is evaluated). */
export interface UserState extends UserActivity {
  readonly userId: string
  queue: Queue
}
