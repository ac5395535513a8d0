import { BODY_LIMITS, type TraitValue } from '@nextvisit/contracts'
import type { JsonObject } from '../../bodies/json-object.ts'
import type { ExportedUser } from './export-line.ts'

/** Bytes of traits in one identify, unless a single trait is longer. Far below the size of a record that Kafka takes. */
const MAX_BYTES = 65_536

type Dated<Value> = Map<string, { readonly atMs: number; readonly value: Value }>

interface MergedUser {
  /** Infinity, and `lastMs` -Infinity: no line of the user has a time. */
  firstMs: number
  lastMs: number
  lastLine: number
  readonly set: Dated<TraitValue>
  readonly setOnce: Dated<TraitValue>
  readonly device: Dated<string>
}

/** The users of an export, whose facts are spread over its lines. */
export interface MergedUsers {
  readonly add: (user: ExportedUser, lineNumber: number) => void
  readonly count: () => number
  /** Returns identify lines of our own format, with the last line that their user occurs in. */
  readonly identifies: () => Iterable<{ readonly members: JsonObject; readonly lastLine: number }>
}

/**
 * Merges what the lines of an export tell about each user. An import never overwrites a trait, so a user's newest values must
 * come first: one identify as of the last line sets them, and a second one sets first seen.
 */
export function createMergedUsers(): MergedUsers {
  const users = new Map<string, MergedUser>()
  return {
    add: (line, lineNumber) => {
      const user = users.get(line.userName) ?? newUser()
      users.set(line.userName, user)
      addLine(user, line)
      user.lastLine = Math.max(user.lastLine, lineNumber)
    },
    count: () => users.size,
    identifies: function* () {
      for (const [userName, user] of users)
        for (const members of linesOf(userName, user)) yield { members, lastLine: user.lastLine }
    },
  }
}

function newUser(): MergedUser {
  return { firstMs: Infinity, lastMs: -Infinity, lastLine: 0, set: new Map(), setOnce: new Map(), device: new Map() }
}

function addLine(user: MergedUser, { atMs, createdMs, set, setOnce, device }: ExportedUser): void {
  user.firstMs = Math.min(user.firstMs, atMs ?? Infinity, createdMs ?? Infinity)
  user.lastMs = Math.max(user.lastMs, atMs ?? -Infinity)
  // Present facts are newer than all that have a time.
  const orderMs = atMs ?? Infinity
  keep(user.set, set, orderMs, (other) => orderMs >= other)
  keep(user.setOnce, setOnce, orderMs, (other) => orderMs < other)
  keep(user.device, device, orderMs, (other) => orderMs >= other)
}

function keep<Value>(
  kept: Dated<Value>,
  given: Readonly<Record<string, Value>>,
  atMs: number,
  isBetterThan: (otherMs: number) => boolean,
): void {
  for (const [name, value] of Object.entries(given)) {
    const other = kept.get(name)
    if (!other || isBetterThan(other.atMs)) kept.set(name, { atMs, value })
  }
}

function* linesOf(userName: string, { firstMs, lastMs, set, setOnce, device }: MergedUser): Iterable<JsonObject> {
  const traits = [...setOnce, ...set].map(([slug, { value }]) => [slug, value] as const)
  const $deviceInfo = Object.fromEntries(Array.from(device, ([field, { value }]) => [field, value]))
  // The time of the import instead would make another record at each import.
  const occurredAt = lastMs === -Infinity ? undefined : new Date(lastMs).toISOString()
  const identify = { type: 'identify', userName, ...(occurredAt !== undefined && { occurredAt }) }
  const [$set = {}, ...more] = inParts(new Map(traits))
  yield { ...identify, userAttributes: { $set }, $deviceInfo }
  for (const part of more) yield { ...identify, userAttributes: { $set: part } }
  if (firstMs < lastMs) yield { ...identify, occurredAt: new Date(firstMs).toISOString() }
}

/** Splits traits into parts that one identify may have. */
function* inParts(traits: ReadonlyMap<string, TraitValue>): Iterable<Readonly<Record<string, TraitValue>>> {
  let part: [string, TraitValue][] = []
  let bytes = 0
  for (const [slug, value] of traits) {
    const size = Buffer.byteLength(JSON.stringify([slug, value]))
    if (part.length === BODY_LIMITS.traitOperations || (part.length > 0 && bytes + size > MAX_BYTES)) {
      yield Object.fromEntries(part)
      part = []
      bytes = 0
    }
    part.push([slug, value])
    bytes += size
  }
  if (part.length > 0) yield Object.fromEntries(part)
}
