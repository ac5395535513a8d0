import type { Answer } from '../../../src/api-routes.ts'

/** The decision of one consumer, as the address of a page names it. */
export interface DecisionOfConsumer {
  readonly service: string
  /** Names the decision. `nothing`: no letter was waiting for one. `failed`: the consumer did not answer. */
  readonly decidedAt: string
}

const NOTHING = 'nothing'
const FAILED = 'failed'
const BETWEEN = ','
/** No instant and no name of a service contains it. */
const BEFORE_INSTANT = '~'

export function isNothing({ decidedAt }: DecisionOfConsumer): boolean {
  return decidedAt === NOTHING
}

export function isFailed({ decidedAt }: DecisionOfConsumer): boolean {
  return decidedAt === FAILED
}

/** Formats decisions for an address, such as `metering~2026-11-23T03:00:00.000Z,user-projector~nothing`. */
export function formatDecisions(consumers: Answer<'decideDeadLetters'>['consumers']): string {
  return consumers
    .map((one) => {
      const decidedAt = one.outcome === 'failed' ? FAILED : (one.decidedAt ?? NOTHING)
      return `${one.service}${BEFORE_INSTANT}${decidedAt}`
    })
    .join(BETWEEN)
}

/** Reads the decisions in an address. Ignores parts that it does not know. */
export function parseDecisions(text: string): readonly DecisionOfConsumer[] {
  return text.split(BETWEEN).flatMap((part) => {
    const [service, decidedAt, ...rest] = part.split(BEFORE_INSTANT)
    return service && decidedAt && rest.length === 0 ? { service, decidedAt } : []
  })
}
