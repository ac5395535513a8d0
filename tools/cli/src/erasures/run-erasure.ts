import { setTimeout as sleep } from 'node:timers/promises'
import type { ErasureAnswer, ErasureVerdict, ProjectRef } from '@nextvisit/contracts'
import type { CallOutcome } from '@nextvisit/service-kit'
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
  const question = { ...placeOf(project), userIds: [...userIds], suppress, erasureId }
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

/**
 * Reads an erasure; undefined if the project has none by this id. Throws a {@link CliError} while this cannot be told, as
 * the eraser may not have read the request yet.
 */
export async function findErasure(
  { userEraser }: Pick<ErasureClients, 'userEraser'>,
  { project, erasureId }: Pick<WantedErasure, 'project' | 'erasureId'>,
): Promise<ErasureAnswer | undefined> {
  const asked = await userEraser.readErasure({ ...placeOf(project), erasureId })
  requireToken(asked)
  if (asked.outcome === 'answered') return asked.answer
  if (asked.outcome === 'not-found') return undefined
  throw new CliError(
    'The user-eraser does not answer, or lags, so known erasures cannot be told from lost ones. See nextvisit status.',
  )
}

/** Waits until an erasure is complete, and shows its stores. Waits as long as a part is unavailable. */
export async function awaitErasure(
  { userEraser }: Pick<ErasureClients, 'userEraser'>,
  { project, erasureId }: Pick<WantedErasure, 'project' | 'erasureId'>,
  progress: Pick<Progress, 'pause'>,
): Promise<ErasureAnswer> {
  for (;;) {
    const asked = await userEraser.readErasure({ ...placeOf(project), erasureId })
    requireToken(asked)
    if (asked.outcome === 'answered' && asked.answer.status === 'complete') return asked.answer
    progress.pause(waitingLine(asked))
    await sleep(READ_EVERY_MS)
  }
}

/** Says what a wait for an erasure is about. */
export function waitingLine(asked: CallOutcome<Pick<ErasureAnswer, 'stores'>>): string {
  switch (asked.outcome) {
    case 'answered':
      return storesLine(asked.answer)
    case 'not-found':
    case 'behind':
      return 'The user-eraser has not read the request yet. Waiting.'
    case 'unavailable':
      return 'The user-eraser does not answer. Waiting.'
  }
}

/** Lists the stores that have not finished an erasure. A terminal shows only the beginning of a long line. */
export function storesLine({ stores }: Pick<ErasureAnswer, 'stores'>): string {
  const unfinished = stores.filter(({ status }) => status !== 'complete')
  if (unfinished.length === 0) return 'Every store has finished. The receipt is not published yet.'
  return unfinished
    .map(({ store, status, dueAt, because }) => {
      const remark = because ?? (dueAt && `at the latest ${dueAt}`)
      return `${store} ${status}${remark === undefined ? '' : ` (${remark})`}`
    })
    .join(', ')
}

function placeOf({ organization, project }: ProjectRef): ProjectRef {
  return { organization, project }
}
