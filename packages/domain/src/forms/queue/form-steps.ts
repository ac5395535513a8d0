import type { FormStep, ProjectRef, QueueStateFact } from '@nextvisit/contracts'
import type { Queue, QueueChange } from './queue.ts'

/** A step of a form for one user. */
export interface StepTaken extends ProjectRef {
  readonly formId: string
  readonly step: FormStep
}

const STEPS = {
  FormQueued: 'queued',
  FormDelivered: 'delivered',
  FormExpired: 'expired',
  FormCancelled: 'cancelled',
} as const satisfies Record<QueueStateFact['type'], FormStep>

export function stepOf({ type, organization, project, formId }: QueueStateFact): StepTaken {
  return { organization, project, formId, step: STEPS[type] }
}

/** Returns the steps in a change of a queue. A form that several visits confirm was delivered once. */
export function stepsOf({ facts }: QueueChange, before: Queue): readonly StepTaken[] {
  return facts.filter(({ queuedId }) => before.rows.get(queuedId)?.state !== 'delivered').map(stepOf)
}
