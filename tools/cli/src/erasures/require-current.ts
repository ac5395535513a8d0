import { setTimeout as sleep } from 'node:timers/promises'
import { TOPICS } from '@nextvisit/contracts'
import type { ErasureView } from '@nextvisit/user-keys'
import { CliError } from '../errors.ts'

/** Time to read all erasures. */
const WITHIN_MS = 30_000

/** Waits until the view knows who is suppressed. Throws a {@link CliError} if the topic cannot be read. */
export async function requireCurrent({ currentAsOfMs }: Pick<ErasureView, 'currentAsOfMs'>): Promise<void> {
  const giveUpAt = performance.now() + WITHIN_MS
  while (currentAsOfMs() === 0) {
    if (performance.now() > giveUpAt)
      throw new CliError(
        `The topic ${TOPICS.erasures}, which names suppressed users, cannot be read. See nextvisit status.`,
      )
    await sleep(20)
  }
}
