import { performance } from 'node:perf_hooks'
import type { FindingsOfKind } from '@nextvisit/audit'
import { ErasureAnswer, type ErasureStore, type ErasureStoreName } from '@nextvisit/contracts'
import { eventually } from '@nextvisit/testing/black-box'
import type { CampaignProject } from './campaign-projects.ts'
import type { CampaignStack } from './campaign-stack.ts'
import type { FaultContext } from './fault.ts'
import { isAcknowledged } from './judge-calls.ts'
import type { Request } from './recording-client.ts'
import type { Random } from './seeded-random.ts'

const ERASED_USERS = 5
const PLAN = 'pro'
const REQUESTED_WITHIN_MS = 60_000
const COMPLETE_WITHIN_MS = 180_000
/** A read may be refused for a moment, because its service has just started again. */
const READ_WITHIN_MS = 20_000

/** An erasure that was requested. */
export interface Erasing {
  readonly project: CampaignProject
  readonly userNames: readonly string[]
  /** Those of them who came back afterwards. */
  readonly returned?: readonly string[]
  /** A user of the project who is not erased. */
  readonly other: string
  readonly erasureId: string
}

/** The names are not among those of the traffic, which must not become unknown. */
export function newNames(random: Random, count = ERASED_USERS): readonly string[] {
  const prefix = `erased-${random.between(0, 2 ** 30)}`
  return Array.from({ length: count }, (_, index) => `${prefix}-${index}`)
}

type Callers = Pick<FaultContext, 'stack' | 'client' | 'random'>

/** Creates new users, and requests to erase all but one of them. */
export async function beginErasure(
  context: Callers,
  project: CampaignProject = context.random.oneOf(context.stack.projects),
  userNames: readonly string[] = newNames(context.random),
): Promise<Erasing> {
  for (const userName of userNames) await createUser(context, project, userName)
  return eraseUsers(context, project, userNames)
}

/** Creates one more user of the project, and requests to erase the others. */
export async function eraseUsers(
  context: Pick<Callers, 'stack' | 'client'>,
  project: CampaignProject,
  userNames: readonly string[],
): Promise<Erasing> {
  const other = `kept-${userNames[0]}`
  await createUser(context, project, other)
  const erasureId = await requestErasure(context.stack, project, userNames)
  return { project, userNames, other, erasureId }
}

/** Identifies a user, and tracks an event with properties. */
export async function createUser(
  { client }: Pick<FaultContext, 'client'>,
  project: CampaignProject,
  userName: string,
  through?: string,
): Promise<void> {
  const requests: readonly Request[] = [
    { route: '/v2/admin/identify-user', body: { userName, userAttributes: { $set: { plan: PLAN } } } },
    eventOf(userName),
  ]
  for (const request of requests)
    await eventually(() => client.send(project, request, through), isAcknowledged, REQUESTED_WITHIN_MS, 500)
}

/** An event whose properties are sealed. */
export function eventOf(userName: string): Request {
  return {
    route: '/v2/admin/track-event',
    body: { userName, eventName: 'Export Done', properties: { cart: { total: 7 } } },
  }
}

/** Requests an erasure. While a part is unavailable, it repeats the request with its key. Returns the erasureId. */
export async function requestErasure(
  stack: CampaignStack,
  project: CampaignProject,
  userNames: readonly string[],
): Promise<string> {
  const idempotencyKey = crypto.randomUUID()
  const request = () => call(stack, project, '/v2/admin/erasures', { body: { userNames }, idempotencyKey })
  const answer = await eventually(request, (given) => given?.status === 202, REQUESTED_WITHIN_MS)
  const erasureId = (answer?.body as { readonly erasureId?: string } | undefined)?.erasureId
  if (erasureId === undefined) throw new Error(`The stack answered ${answer?.status} to an erasure`)
  return erasureId
}

interface Answer {
  readonly status: number
  readonly body: unknown
}

/** Calls the gateway. undefined: no answer. */
async function call(
  { gatewayUrl }: CampaignStack,
  { adminKey }: CampaignProject,
  path: string,
  sent?: { readonly body: object; readonly idempotencyKey: string },
): Promise<Answer | undefined> {
  try {
    const response = await fetch(`${gatewayUrl}${path}`, {
      headers: {
        'x-api-key': adminKey,
        'content-type': 'application/json',
        ...(sent && { 'idempotency-key': sent.idempotencyKey }),
      },
      ...(sent && { method: 'POST', body: JSON.stringify(sent.body) }),
      signal: AbortSignal.timeout(5_000),
    })
    return { status: response.status, body: await response.json() }
  } catch {
    return undefined
  }
}

/** The status that a caller sees, `unread` with the HTTP status if it cannot be read now. */
type Seen = { readonly erasure: ErasureAnswer } | { readonly unread: number | undefined }

async function readErasure(stack: CampaignStack, { project, erasureId }: Erasing): Promise<Seen> {
  const answer = await call(stack, project, `/v2/admin/erasures/${erasureId}`)
  const erasure = ErasureAnswer.safeParse(answer?.body).data
  return erasure ? { erasure } : { unread: answer?.status }
}

function storeOf(seen: Seen, name: ErasureStoreName): ErasureStore | undefined {
  return 'erasure' in seen ? seen.erasure.stores.find(({ store }) => store === name) : undefined
}

/** Waits until a store has finished. Returns false if it does not finish in time. */
export async function reaches(
  stack: CampaignStack,
  erasing: Erasing,
  step: ErasureStoreName,
  withinMs: number,
): Promise<boolean> {
  const isDone = (seen: Seen) => storeOf(seen, step)?.status === 'complete'
  return isDone(await eventually(() => readErasure(stack, erasing), isDone, withinMs))
}

/** The store and the reason that the status must name while a part is unavailable. `unread`: the gateway answers 503 instead. */
export type Missing = { readonly store: ErasureStoreName; readonly because: string } | 'unread'

/** Waits until the status names what is missing. Returns its words; undefined if it does not name it in time. */
export async function named(
  stack: CampaignStack,
  erasing: Erasing,
  missing: Missing,
  withinMs: number,
): Promise<string | undefined> {
  const wordsOf = (seen: Seen): string | undefined => {
    if (missing === 'unread') return 'unread' in seen && seen.unread === 503 ? 'the status answered 503' : undefined
    const store = storeOf(seen, missing.store)
    const isNamed = store?.status === 'incomplete' && store.because?.includes(missing.because) === true
    return isNamed && 'erasure' in seen && seen.erasure.status === 'incomplete'
      ? `the status said of ${missing.store}: ${store.because}`
      : undefined
  }
  return eventually(async () => wordsOf(await readErasure(stack, erasing)), Boolean, withinMs, 500)
}

function isComplete(seen: Seen): boolean {
  return 'erasure' in seen && seen.erasure.status === 'complete'
}

/**
 * Waits until an erasure is complete. Returns what is wrong: it is not complete, a user is left, or a user is gone who was not
 * erased, or who has returned.
 */
async function wrongOf(stack: CampaignStack, erasing: Erasing): Promise<readonly FindingsOfKind[]> {
  const { project, userNames, returned = [], other, erasureId } = erasing
  const seen = await eventually(() => readErasure(stack, erasing), isComplete, COMPLETE_WITHIN_MS, 500)
  const isReceived = 'erasure' in seen && seen.erasure.receipt?.users.length === userNames.length
  const gone = userNames.filter((name) => !returned.includes(name))
  const read = (name: string, expected: number) => readUser(stack, project, name, expected)
  const left = await Promise.all(gone.map(async (name) => ({ name, answer: await read(name, 404) })))
  const there = await Promise.all([...returned, other].map(async (name) => ({ name, answer: await read(name, 200) })))
  return [
    ...finding('erasure: not complete', isComplete(seen) && isReceived, erasureId, seen),
    ...left.flatMap(({ name, answer }) => finding('erasure: a user is left', answer?.status === 404, name, answer)),
    ...there.flatMap(({ name, answer }) => finding('erasure: a user is gone', planOf(answer) === PLAN, name, answer)),
  ]
}

function planOf(answer: Answer | undefined): unknown {
  return (answer?.body as { readonly traits?: Readonly<Record<string, unknown>> } | undefined)?.traits?.['plan']
}

function readUser(stack: CampaignStack, project: CampaignProject, name: string, expected: number) {
  const read = () => call(stack, project, `/v2/admin/users/${encodeURIComponent(name)}`)
  return eventually(read, (answer) => answer?.status === expected, READ_WITHIN_MS)
}

function finding(kind: string, isRight: boolean, about: string, says: unknown): FindingsOfKind[] {
  return isRight ? [] : [{ kind, count: 1, examples: [{ about, says: JSON.stringify(says) ?? 'no answer' }] }]
}

/** The end of erasures, which both the witness and the errors of a fault need. Waits for it once. */
export function endOf(stack: CampaignStack, all: readonly Erasing[]) {
  let ended: Promise<{ readonly wrong: readonly FindingsOfKind[]; readonly proof: string }> | undefined
  const wait = async () => {
    const from = performance.now()
    const wrong = (await Promise.all(all.map((erasing) => wrongOf(stack, erasing)))).flat()
    const took = `${((performance.now() - from) / 1_000).toFixed(1)} s later`
    return { wrong, proof: all.length === 1 ? `complete ${took}` : `${all.length} erasures complete ${took}` }
  }
  const end = () => (ended ??= wait())
  return { proof: async () => (await end()).proof, wrong: async () => (await end()).wrong }
}
