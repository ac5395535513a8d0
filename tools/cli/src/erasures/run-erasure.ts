import { setTimeout as sleep } from 'node:timers/promises'
import type { ErasureAnswer, ErasureVerdict, ProjectRef } from '@nextvisit/contracts'
import { CliError } from '../errors.ts'
import type { Progress } from '../output/progress.ts'
import { type ErasureClients, requireToken } from './ask-erasures.ts'

/** An erasure to begin. A repeat with the same id begins no second one. */
export interface WantedErasure {
  readonly project: ProjectRef
  readonly userIds: readonly string[]
  readonly suppress: boolean
  readonly erasureId: string
}

export type BegunErasure = Extract<ErasureVerdict, { readonly outcome: 'requested' }>

const TRY_WITHIN_MS = 30_000
const TRY_EVERY_MS = 500
const READ_EVERY_MS = 1_000

/** Asks a gateway to begin an erasure, again for 30 s. Throws a {@link CliError} with the remedy. */
export async function beginErasure(
  { gateway }: Pick<ErasureClients, 'gateway'>,
  { project, userIds, suppress, erasureId }: WantedErasure,
): Promise<BegunErasure> {
  const { organization, project: id } = project
  const question = { organization, project: id, userIds: [...userIds], suppress, erasureId }
  const giveUpAt = performance.now() + TRY_WITHIN_MS
  for (;;) {
    const asked = await gateway.requestErasure(question)
    requireToken(asked)
    if (asked.outcome === 'answered' && asked.answer.outcome === 'requested') return asked.answer
    if (performance.now() > giveUpAt)
      throw new CliError(
        asked.outcome === 'answered'
          ? 'The erasure could not be requested: Kafka or the user-projector does not answer, or lags. See nextvisit status.'
          : 'The erasure could not be requested: no gateway answers. See nextvisit status.',
      )
    await sleep(TRY_EVERY_MS)
  }
}

/** Waits until an erasure is complete, and shows its stores. Waits as long as a part is unavailable. */
export async function awaitErasure(
  { userEraser }: Pick<ErasureClients, 'userEraser'>,
  { project, erasureId }: Pick<WantedErasure, 'project' | 'erasureId'>,
  progress: Pick<Progress, 'pause'>,
): Promise<ErasureAnswer> {
  const { organization, project: id } = project
  for (;;) {
    const asked = await userEraser.readErasure({ organization, project: id, erasureId })
    requireToken(asked)
    if (asked.outcome === 'answered' && asked.answer.status === 'complete') return asked.answer
    progress.pause(
      asked.outcome === 'answered' ? storesLine(asked.answer) : 'The user-eraser does not answer. Waiting.',
    )
    await sleep(READ_EVERY_MS)
  }
}

/** Formats the stores of an erasure: `user-events ✓  user-projector ✓  user-keys running`. */
export function storesLine({ stores }: Pick<ErasureAnswer, 'stores'>): string {
  return stores
    .map(({ store, status, because }) =>
      status === 'complete' ? `${store} ✓` : `${store} ${status}${because === undefined ? '' : ` (${because})`}`,
    )
    .join('  ')
}
