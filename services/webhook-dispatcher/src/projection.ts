import type { Projection } from '@nextvisit/consumer'
import { type AnyFormFact, SealedFormFact, TOPICS } from '@nextvisit/contracts'
import type { ZodType } from 'zod'

interface Draft {
  readonly rows: readonly never[]
}

/** Creates the projection of deliveries. */
export function createProjection(): Projection<AnyFormFact, Draft> {
  return {
    name: 'webhook-dispatcher',
    topic: TOPICS.formEvents,
    schema: SealedFormFact as ZodType<AnyFormFact>,
    fence: 'QueueErased',
    load: () => ({ rows: [] }),
    evolve: {
      FormQueued: 'ignored',
      FormDelivered: 'ignored',
      FormExpired: 'ignored',
      FormCancelled: 'ignored',
      FormAnswered: 'ignored',
      QueueErased: 'ignored',
      SegmentEntered: 'ignored',
      SegmentLeft: 'ignored',
    },
    save: () => ({ statements: [] }),
  }
}
