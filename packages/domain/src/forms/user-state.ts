import type { DeviceFacts, TraitValue } from '@nextvisit/contracts'
import type { EventHistory } from '../users/event-history.ts'
import type { Queue } from './queue.ts'

/** The state of a user that the rules read, after every record that was answered before (forms.md, When a record is evaluated). */
export interface UserState {
  readonly userId: string
  readonly traits: ReadonlyMap<string, TraitValue>
  readonly device: DeviceFacts
  /** The instant of the first admitted identify. undefined: there was none, because events were admitted unchecked. */
  readonly firstSeenAt?: number | undefined
  readonly sessionStartedAt?: number | undefined
  readonly lastSdkContactAt?: number | undefined
  /** By count key (`countKeyOf`). */
  readonly events: ReadonlyMap<string, EventHistory>
  readonly queue: Queue
}

const SESSION_GAP_MS = 30 * 60_000

/** Returns whether a visit starts a session: the first ever, or 30 minutes or more after the last SDK contact (forms.md). */
export function startsSession(
  user: Pick<UserState, 'sessionStartedAt' | 'lastSdkContactAt'>,
  visitAt: number,
): boolean {
  if (user.sessionStartedAt === undefined || user.lastSdkContactAt === undefined) return true
  return visitAt - user.lastSdkContactAt >= SESSION_GAP_MS
}
