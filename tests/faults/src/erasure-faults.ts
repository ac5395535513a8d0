import { performance } from 'node:perf_hooks'
import { ErasureAnswer, type ErasureStoreName } from '@nextvisit/contracts'
import { eventually, failFoldOf } from '@nextvisit/testing/black-box'
import type { CampaignProject } from './campaign-projects.ts'
import { CONSUMER_NAMES, type CampaignStack } from './campaign-stack.ts'
import type { Fault, FaultContext } from './fault.ts'
import { ends, FREEZE_MS, freezes } from './process-faults.ts'
import type { Random } from './seeded-random.ts'

/** Faults that strike while users are erased (decision 18). The erasure must complete by itself afterwards. */

/** A fault strikes right after the request, or once one of these stores has finished. */
const STEPS: readonly (ErasureStoreName | undefined)[] = [undefined, 'user-events', 'user-projector', 'redis']
const ERASED_USERS = 5
const REQUESTED_WITHIN_MS = 30_000
const STEP_WITHIN_MS = 30_000
const COMPLETE_WITHIN_MS = 180_000
const HALTED_MS = 5_000
/** A read may be refused for a moment, because its service has just started again. */
const GONE_WITHIN_MS = 10_000

/** An erasure that was requested. */
interface Erasing {
  readonly project: CampaignProject
  readonly userNames: readonly string[]
  readonly erasureId: string
}

/** Creates users in a project, and requests to erase them. */
async function beginErasure(
  { stack, client }: FaultContext,
  project: CampaignProject,
  userNames: readonly string[],
): Promise<Erasing> {
  for (const userName of userNames) {
    const body = { userName, userAttributes: { $set: { plan: 'pro' } } }
    await client.send(project, { route: '/v2/admin/identify-user', body })
    await client.send(project, { route: '/v2/admin/track-event', body: { userName, eventName: 'Export Done' } })
  }
  const key = crypto.randomUUID()
  const request = () =>
    call(stack, project, '/v2/admin/erasures', { body: { userNames, suppress: false }, idempotencyKey: key })
  const answer = await eventually(request, (given) => given?.status === 202, REQUESTED_WITHIN_MS)
  const erasureId = (answer?.body as { readonly erasureId?: string } | undefined)?.erasureId
  if (erasureId === undefined) throw new Error(`A healthy stack answered ${answer?.status} to an erasure`)
  return { project, userNames, erasureId }
}

/** Calls the gateway. undefined: no answer. */
async function call(
  { gatewayUrl }: CampaignStack,
  { adminKey }: CampaignProject,
  path: string,
  sent?: { readonly body: object; readonly idempotencyKey: string },
): Promise<{ readonly status: number; readonly body: unknown } | undefined> {
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

async function readErasure(stack: CampaignStack, { project, erasureId }: Erasing): Promise<ErasureAnswer | undefined> {
  const answer = await call(stack, project, `/v2/admin/erasures/${erasureId}`)
  return ErasureAnswer.safeParse(answer?.body).data
}

const isDone = (erasure: ErasureAnswer | undefined, store: ErasureStoreName): boolean =>
  erasure?.stores.find((one) => one.store === store)?.status === 'complete'

/** Returns the erased users that still have a profile. */
async function usersLeft(stack: CampaignStack, { project, userNames }: Erasing): Promise<readonly string[]> {
  const read = (name: string) =>
    eventually(
      () => call(stack, project, `/v2/admin/users/${encodeURIComponent(name)}`),
      (answer) => answer?.status === 404,
      GONE_WITHIN_MS,
    )
  const isThere = await Promise.all(userNames.map(async (name) => (await read(name))?.status !== 404))
  return userNames.filter((_, index) => isThere[index])
}

/** Waits until the erasure is complete. Returns proof of it; undefined if it is not, or if a user is left. */
async function completed(stack: CampaignStack, erasing: Erasing): Promise<string | undefined> {
  const from = performance.now()
  const ended = await eventually(
    () => readErasure(stack, erasing),
    (erasure) => erasure?.status === 'complete',
    COMPLETE_WITHIN_MS,
    500,
  )
  if (ended?.status !== 'complete' || ended.receipt === undefined) return undefined
  if ((await usersLeft(stack, erasing)).length > 0) return undefined
  return `the erasure was complete ${((performance.now() - from) / 1_000).toFixed(1)} s later`
}

/** Strikes at a random step of an erasure. */
function whileErasing(inject: Fault['inject']): Fault['inject'] {
  return async (context) => {
    const { stack, random } = context
    const erasing = await beginErasure(context, random.oneOf(stack.projects), newNames(random))
    const step = random.oneOf(STEPS)
    if (step !== undefined)
      await eventually(
        () => readErasure(stack, erasing),
        (erasure) => isDone(erasure, step),
        STEP_WITHIN_MS,
      )
    const injected = await inject(context)
    return {
      ...injected,
      witness: async () => {
        const struck = await injected.witness()
        const proof = await completed(stack, erasing)
        return struck && proof ? `${struck} after ${step ?? 'the request'}; ${proof}` : undefined
      },
    }
  }
}

/** The users are not among those of the traffic, which must not become unknown. */
function newNames(random: Random): readonly string[] {
  const prefix = `erased-${random.between(0, 2 ** 30)}`
  return Array.from({ length: ERASED_USERS }, (_, index) => `${prefix}-${index}`)
}

/** Halts the partition of a user before the fact of its erasure. The status must name the store that waits. */
const haltedConsumer: Fault['inject'] = async (context) => {
  const { stack, hostile, random } = context
  const [userName = ''] = newNames(random)
  const mend = await failFoldOf(stack, userName)
  const erasing = await beginErasure({ ...context, client: hostile.client }, hostile.project, [userName])
  let atHeal: ErasureAnswer | undefined
  return {
    lastsMs: HALTED_MS,
    heal: async () => {
      atHeal = await readErasure(stack, erasing)
      await mend()
    },
    witness: async () => {
      const isNamed = atHeal !== undefined && atHeal.status !== 'complete' && !isDone(atHeal, 'user-projector')
      const proof = await completed(stack, erasing)
      return isNamed && proof ? `the status named user-projector, which was halted; ${proof}` : undefined
    },
  }
}

const PARTS = ['gateway', ...CONSUMER_NAMES, 'kafka', 'postgres', 'redis'] as const

export const erasureFaults: readonly Fault[] = [
  ...PARTS.map(
    (name): Fault => ({
      name: `kill ${name} during an erasure`,
      family: 'erasure',
      mayRefuse: true,
      // The erasure is its work, with or without a commit at this moment.
      inject: whileErasing(ends(name, 'SIGKILL', { duringCommits: false })),
    }),
  ),
  ...(['kafka', 'postgres', 'redis'] as const).map(
    (name): Fault => ({
      name: `freeze ${name} during an erasure`,
      family: 'erasure',
      mayRefuse: true,
      inject: whileErasing(freezes(name, FREEZE_MS)),
    }),
  ),
  { name: 'a halted consumer during an erasure', family: 'erasure', inject: haltedConsumer },
]
