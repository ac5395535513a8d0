import type { User } from '../users/user.ts'
import type { Queue } from './queue/queue.ts'

/** A user as the rules of forms read it, after every record that was answered before (forms.md, When a record is evaluated). */
export interface UserState extends User {
  readonly userId: string
  queue: Queue
}
