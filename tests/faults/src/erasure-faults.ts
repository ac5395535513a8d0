import { setTimeout as sleep } from 'node:timers/promises'
import type { ErasureStoreName } from '@nextvisit/contracts'
import type { ConsumerName } from '@nextvisit/services'
import { failFoldOf } from '@nextvisit/testing/black-box'
import { FOLDING_CONSUMERS, type FoldingConsumer } from './campaign-stack.ts'
import { beginErasure, endOf, type Erasing, type Missing, named, newNames, reaches } from './erasing.ts'
import { erasureRaces } from './erasure-races.ts'
import { type Fault, type Injected, nothingToHeal } from './fault.ts'
import { OUTAGE_MS } from './long-outage.ts'
import { ends, freezes, type PartName } from './process-faults.ts'

/**
 * Faults that strike while users are erased (decision 18). The status must name what is missing, the erasure must complete
 * by itself once the part is back, and other users must keep their data.
 */

const ERASER = 'user-eraser'
const EVERY_CONSUMER: readonly ConsumerName[] = [...FOLDING_CONSUMERS, ERASER]
/** A kill strikes right after a request, and in other erasures once one of these stores has finished. */
const STEPS: readonly ErasureStoreName[] = ['user-events', 'user-projector', 'redis', 'user-keys']
const STEP_WITHIN_MS = 60_000
/** The eraser waits 3 s for an answer of a consumer, and 10 s for one of Kafka, which it may repeat. */
const NAMED_WITHIN_MS = 40_000
/** The status calls a store overdue after 60 s. */
const OVERDUE_WITHIN_MS = 90_000

const together = async (injected: Injected, proof: string | undefined): Promise<string | undefined> => {
  const struck = await injected.witness()
  return struck && proof && `${struck}; ${proof}`
}

/** Kills a part right after the request of an erasure. For the short form: a killed consumer is replaced only after 10 s. */
function killsAfterRequest(name: PartName): Fault['inject'] {
  return async (context) => {
    const { stack } = context
    const erasing = await beginErasure(context)
    // The erasure is its work, with or without a commit at this moment.
    const injected = await ends(name, 'SIGKILL', { duringCommits: false })(context)
    const end = endOf(stack, [erasing])
    return { ...injected, witness: async () => together(injected, await end.proof()), wrong: end.wrong }
  }
}

/** Kills a part at each step of an erasure: in one erasure right after the request, in the others after a store. */
function killsAtEachStep(name: PartName): Fault['inject'] {
  return async (context) => {
    const { stack } = context
    const begun: Erasing[] = []
    const struck: (string | undefined)[] = []
    for (const step of [undefined, ...STEPS]) {
      const erasing = await beginErasure(context)
      begun.push(erasing)
      const isThere = step === undefined || (await reaches(stack, erasing, step, STEP_WITHIN_MS))
      const { witness } = await ends(name, 'SIGKILL', { duringCommits: false })(context)
      struck.push((await witness()) && (isThere ? `after ${step ?? 'the request'}` : undefined))
    }
    const end = endOf(stack, begun)
    return {
      lastsMs: 0,
      heal: nothingToHeal,
      witness: async () => {
        const proof = await end.proof()
        return struck.every(Boolean) ? `killed ${struck.join(', ')}; ${proof}` : undefined
      },
      wrong: end.wrong,
    }
  }
}

interface Freeze {
  readonly part: PartName
  readonly missing: Missing
  /** The store after which the part is frozen; undefined: right at the request. */
  readonly after?: ErasureStoreName
  readonly atLeastMs?: number
  /** Default: {@link NAMED_WITHIN_MS}. */
  readonly namedWithinMs?: number
}

/** Freezes a part during an erasure, for at least a time and until the status names what is missing. */
function freezesUntilNamed({
  part,
  missing,
  after,
  atLeastMs = 0,
  namedWithinMs = NAMED_WITHIN_MS,
}: Freeze): Fault['inject'] {
  return async (context) => {
    const { stack } = context
    const erasing = await beginErasure(context)
    if (after !== undefined) await reaches(stack, erasing, after, STEP_WITHIN_MS)
    const injected = await freezes(part, 0)(context)
    const end = endOf(stack, [erasing])
    let words: string | undefined
    return {
      ...injected,
      heal: async () => {
        try {
          const [found] = await Promise.all([named(stack, erasing, missing, namedWithinMs), sleep(atLeastMs)])
          words = found
        } finally {
          await injected.heal()
        }
      },
      witness: async () => together(injected, words && `${words}; ${await end.proof()}`),
      wrong: end.wrong,
    }
  }
}

const doesNotAnswer = (store: FoldingConsumer): Missing => ({ store, because: 'does not answer' })

const FREEZES: readonly Freeze[] = [
  ...FOLDING_CONSUMERS.map((part) => ({ part, missing: doesNotAnswer(part) })),
  { part: ERASER, missing: 'unread' },
  // The work that is left after `redis` is that of the keys.
  {
    part: 'kafka',
    missing: { store: 'user-keys', because: 'Kafka does not answer' },
    after: 'redis',
    atLeastMs: OUTAGE_MS,
  },
  { part: 'kafka', missing: { store: 'user-events', because: 'not published' }, namedWithinMs: OVERDUE_WITHIN_MS },
  { part: 'postgres', missing: 'unread', atLeastMs: OUTAGE_MS },
  { part: 'redis', missing: { store: 'redis', because: 'Redis does not answer' }, atLeastMs: OUTAGE_MS },
]

/** Halts the partition of a user at the fact of its erasure, until the status says that the projector lags. */
const haltedConsumer: Fault['inject'] = async ({ stack, hostile, random }) => {
  const userNames = newNames(random, 1)
  const mend = await failFoldOf(stack, userNames[0] ?? '', 'the erasure')
  const erasing = await beginErasure({ stack, client: hostile.client, random }, hostile.project, userNames)
  const end = endOf(stack, [erasing])
  let words: string | undefined
  return {
    lastsMs: 0,
    heal: async () => {
      try {
        words = await named(stack, erasing, HAS_NOT_FOLDED, OVERDUE_WITHIN_MS)
      } finally {
        await mend()
      }
    },
    witness: async () => words && `${words}; ${await end.proof()}`,
    wrong: end.wrong,
  }
}

const HAS_NOT_FOLDED: Missing = { store: 'user-projector', because: 'has not folded the erasure' }

const KILLED: readonly PartName[] = ['gateway', ...EVERY_CONSUMER, 'kafka', 'postgres', 'redis']
/** Parts without which every request is answered. */
const mayRefuse = (part: PartName): boolean => part !== ERASER

export const erasureFaults: readonly Fault[] = [
  {
    name: 'kill postgres at the request of an erasure',
    family: 'erasure',
    isShort: true,
    mayRefuse: true,
    inject: killsAfterRequest('postgres'),
  },
  ...KILLED.map(
    (part): Fault => ({
      name: `kill ${part} at each step of an erasure`,
      family: 'erasure',
      mayRefuse: mayRefuse(part),
      inject: killsAtEachStep(part),
    }),
  ),
  ...FREEZES.map(
    (freeze): Fault => ({
      name: `freeze ${freeze.part} ${freeze.after ? `after the store ${freeze.after}` : 'at the request'} of an erasure`,
      family: 'erasure',
      mayRefuse: mayRefuse(freeze.part),
      inject: freezesUntilNamed(freeze),
    }),
  ),
  { name: 'a halted consumer during an erasure', family: 'erasure', inject: haltedConsumer },
  ...erasureRaces,
]
