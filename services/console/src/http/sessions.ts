import { createHash, randomBytes, scryptSync } from 'node:crypto'
import { createOutageLog, type Logger, messageOf, type RedisConnection } from '@nextvisit/service-kit'
import { z } from 'zod'
import type { ConsoleConfig } from '../config.ts'
import { Actor } from './actor.ts'
import { Role } from './define-route.ts'

/** Session of a signed-in person, as one request sees it. */
export interface Session extends Actor {
  /** Value of the cookie. */
  readonly id: string
  readonly expiresAtMs: number
  /**
   * Names of the personal data that a viewer has asked for, a bounded number: users `organization/project/userId`, segments
   * whose members are shown, and dead letters `metering/12`.
   */
  readonly revealed: { readonly add: (name: string) => Promise<void>; readonly has: (name: string) => boolean }
}

/** The person who signs in. */
export interface Person extends Pick<Actor, 'role' | 'name' | 'isVerified' | 'subject'> {
  /** `Host` of the request. The session is valid only there. */
  readonly host: string
  /** Network address. */
  readonly address: string
  /** The session ends at latest after this time. */
  readonly lastsMs: number
}

/** Every function rejects with {@link NoSessionsError} if Redis does not answer, or refuses. */
export interface Sessions {
  readonly open: (person: Person) => Promise<Session>
  /** `host`: of the request. */
  readonly find: (id: string | undefined, host: string) => Promise<Session | undefined>
  readonly close: (session: Pick<Session, 'id' | 'role'>) => Promise<void>
}

/** Redis does not answer, or refuses, so nobody can be recognized. */
export class NoSessionsError extends Error {
  readonly code = 'NO_SESSIONS'
  readonly retryable = true

  constructor(cause: unknown) {
    super('The sessions of the console are in Redis, which does not answer or refuses.', { cause })
    this.name = 'NoSessionsError'
  }
}

/** Maximum age of a session that a token has opened. */
export const TOKEN_SESSION_MS = 12 * 3_600_000
/** A session ends after this time without a request. Open pages send requests. */
export const IDLE_MS = 2 * 3_600_000
/** Sessions of one role. Beyond this number, a further one ends another of the same role. */
const MAX_SESSIONS = 200
const ID_BYTES = 32
const ID = /^[\w-]{43}$/
/** For each session: more than a person views in a day. */
const MAX_REVEALED = 1_000

const StoredSession = z.object({
  ...Actor.shape,
  host: z.string(),
  address: z.string(),
  expiresAtMs: z.number(),
  /** Of the token that opened it: a session ends with its token. null: the identity provider did. */
  tokenDigest: z.string().nullable(),
})
type StoredSession = z.infer<typeof StoredSession>

interface SessionsParts {
  readonly redis: RedisConnection['client']
  readonly nowMs: () => number
  /** The tokens of this process, which end the sessions of former ones. Default: none. */
  readonly tokens?: Partial<ConsoleConfig['tokens']>
  readonly logger: Logger
  /** Default: `nextvisit:`. */
  readonly keyPrefix?: string
}

/**
 * Creates the sessions. They are in Redis, so every process of the console knows them, and a restart ends none. Their keys are
 * hashes of the cookies: a copy of Redis signs nobody in. Each role has at most {@link MAX_SESSIONS}. A further sign-in evicts
 * the least recently used session of the address with the most sessions of that role. Frequent sign-ins therefore evict no
 * sessions of the other role or of other addresses.
 */
export function createSessions(parts: SessionsParts): Sessions {
  const { redis, nowMs, tokens = {}, logger, keyPrefix = 'nextvisit:' } = parts
  const orNoSessions = createOrNoSessions(logger)
  const digests = { operator: digestOf(tokens.operator), viewer: digestOf(tokens.viewer) }
  const tokenDigestOf = ({ role, isVerified }: Pick<Actor, 'role' | 'isVerified'>) =>
    isVerified ? null : digests[role]
  const sessionKey = (hash: string) => `${keyPrefix}console-session:${hash}`
  const revealedKey = (hash: string) => `${keyPrefix}console-revealed:${hash}`
  /** Hashes of the sessions of a role, by the time of the last use. */
  const roleKey = (role: Role) => `${keyPrefix}console-role:${role}`

  async function makeRoom(role: Role): Promise<void> {
    const hashes = await redis.zrange(roleKey(role), '0', '-1')
    if (hashes.length <= MAX_SESSIONS) return
    const stored = (await redis.mget(hashes.map(sessionKey))).map(parseStored)
    const opened = hashes.flatMap((hash, index) => {
      const address = stored[index]?.address
      return address === undefined ? [] : [{ hash, address }]
    })
    const ended = hashes.filter((_, index) => !stored[index])
    // Several, if others sign in at the same time.
    const evicted = oldestOfMost(opened, opened.length - MAX_SESSIONS)
    if (ended.length + evicted.length > 0) await remove(role, [...ended, ...evicted])
  }

  async function remove(role: Role, hashes: readonly string[]): Promise<void> {
    const keys = hashes.flatMap((hash) => [sessionKey(hash), revealedKey(hash)])
    await redis
      .multi()
      .del(...keys)
      .zrem(roleKey(role), ...hashes)
      .exec()
  }

  /** Notes a use. A session that has ended meanwhile stays ended. */
  async function touch(hash: string, { role, expiresAtMs }: StoredSession): Promise<void> {
    const forMs = Math.min(IDLE_MS, expiresAtMs - nowMs())
    await redis
      .multi()
      .pexpire(sessionKey(hash), forMs)
      .pexpire(revealedKey(hash), forMs)
      .zadd(roleKey(role), 'XX', nowMs(), hash)
      .exec()
  }

  function revealedOf(hash: string, { expiresAtMs }: StoredSession, known: readonly string[]): Session['revealed'] {
    const names = new Set(known)
    return {
      add: async (name) => {
        names.add(name)
        const key = revealedKey(hash)
        await orNoSessions(
          'reveal',
          redis
            .multi()
            .zadd(key, nowMs(), name)
            .zremrangebyrank(key, 0, -MAX_REVEALED - 1)
            .pexpire(key, Math.min(IDLE_MS, expiresAtMs - nowMs()))
            .exec(),
        )
      },
      has: (name) => names.has(name),
    }
  }

  async function open({ host, address, lastsMs, ...person }: Person): Promise<Session> {
    const id = randomBytes(ID_BYTES).toString('base64url')
    const hash = hashOf(id)
    const actor: Actor = { ...person, logName: randomBytes(4).toString('hex') }
    const expiresAtMs = nowMs() + lastsMs
    const stored: StoredSession = { ...actor, host, address, expiresAtMs, tokenDigest: tokenDigestOf(actor) }
    await redis
      .multi()
      .set(sessionKey(hash), JSON.stringify(stored), 'PX', Math.min(IDLE_MS, lastsMs))
      .zadd(roleKey(actor.role), nowMs(), hash)
      .pexpire(roleKey(actor.role), TOKEN_SESSION_MS)
      .exec()
    await makeRoom(actor.role)
    return { ...actor, id, expiresAtMs, revealed: revealedOf(hash, stored, []) }
  }

  async function find(id: string, host: string): Promise<Session | undefined> {
    const hash = hashOf(id)
    const [text, names] = await Promise.all([redis.get(sessionKey(hash)), redis.zrange(revealedKey(hash), '0', '-1')])
    const stored = parseStored(text)
    if (!stored || stored.host !== host || stored.expiresAtMs <= nowMs()) return undefined
    if (stored.tokenDigest !== tokenDigestOf(stored)) return undefined
    // Nobody waits for it: without it, the session ends a little earlier.
    void touch(hash, stored).catch(() => {})
    const { role, name, isVerified, subject, logName, expiresAtMs } = stored
    const actor: Actor = { role, name, isVerified, subject, logName }
    return { ...actor, id, expiresAtMs, revealed: revealedOf(hash, stored, names) }
  }

  return {
    open: (person) => orNoSessions('open', open(person)),
    // Without an id, Redis is not asked, which says nothing about an outage.
    find: async (id = '', host) => (ID.test(id) ? orNoSessions('find', find(id, host)) : undefined),
    close: ({ id, role }) => orNoSessions('close', remove(role, [hashOf(id)])),
  }
}

/**
 * Creates the function that turns errors of Redis into {@link NoSessionsError}, and logs the first of each outage. Actions fail apart
 * from each other: a full Redis refuses only those that write.
 */
function createOrNoSessions(logger: Logger) {
  const outages = new Map<string, ReturnType<typeof createOutageLog>>()
  return async <Answer>(action: string, work: Promise<Answer>): Promise<Answer> => {
    const lines = {
      began: `Sessions of the console fail in Redis: ${action}`,
      ended: `Sessions of the console work again: ${action}`,
    }
    const outage = outages.get(action) ?? createOutageLog(logger, lines)
    outages.set(action, outage)
    try {
      const answer = await work
      outage.end()
      return answer
    } catch (error) {
      outage.begin({ because: causeOf(error) })
      throw new NoSessionsError(error)
    }
  }
}

/** Returns the words of Redis. A refused transaction has them in the errors of its commands. */
function causeOf(error: unknown): string {
  const refused = error instanceof Error && 'previousErrors' in error ? error.previousErrors : undefined
  return messageOf(Array.isArray(refused) && refused.length > 0 ? (refused[0] as unknown) : error)
}

/** It verifies no guess of a weak token quickly. */
function digestOf(token: string | undefined): string | null {
  return token === undefined ? null : scryptSync(token, 'nextvisit console: session', 8).toString('hex')
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('base64url')
}

/** Returns undefined for a session that has ended, or was written by a version with other members. */
function parseStored(text: string | null): StoredSession | undefined {
  return text === null ? undefined : StoredSession.safeParse(JSON.parse(text)).data
}

/** Returns sessions to evict: each is the first one of the address that then has the most. `opened`: least recently used first. */
function oldestOfMost(
  opened: readonly { readonly hash: string; readonly address: string }[],
  count: number,
): readonly string[] {
  const groups = [...Map.groupBy(opened, ({ address }) => address).values()]
  return Array.from({ length: Math.max(0, count) }, () => {
    const most = groups.reduce((one, other) => (other.length > one.length ? other : one))
    return most.shift()?.hash ?? ''
  })
}
