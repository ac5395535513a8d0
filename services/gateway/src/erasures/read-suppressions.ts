import type { SuppressionsPage, userEraserCalls } from '@nextvisit/contracts'
import { createSuppressionHash, type KeyRing } from '@nextvisit/sealing'
import type { CallClient, Logger } from '@nextvisit/service-kit'
import type { ErasuresPageQuery, ErasureView } from '@nextvisit/user-keys'

interface ReadSuppressionsParts {
  readonly view: Pick<ErasureView, 'suppressionsOf' | 'currentAsOfMs'>
  readonly userEraser: Pick<CallClient<typeof userEraserCalls>, 'readInstallationKeys'>
  readonly keyRing: KeyRing | undefined
  readonly logger: Logger
}

/** Reads a page of suppressions; undefined while they, or the key of their hashes, cannot be read. */
export type ReadSuppressions = (query: ErasuresPageQuery, deadlineAt: number) => Promise<SuppressionsPage | undefined>

/** Creates the list of suppressions, from memory. The key of the hashes never changes, so it is asked for once. */
export function createReadSuppressions(parts: ReadSuppressionsParts): ReadSuppressions {
  const { view, userEraser, keyRing, logger } = parts
  let hashOf: ((userId: string) => string) | undefined

  async function readHash(deadlineAt: number): Promise<typeof hashOf> {
    if (hashOf || !keyRing) return hashOf
    const asked = await userEraser.readInstallationKeys({}, { deadlineAt })
    if (asked.outcome !== 'answered') return undefined
    try {
      hashOf = createSuppressionHash(keyRing, asked.answer.suppressionKey)
    } catch (err) {
      logger.error({ err }, 'Suppressions cannot be listed')
    }
    return hashOf
  }

  return async (query, deadlineAt) => {
    if (view.currentAsOfMs() === 0) return undefined
    const { suppressions, next } = view.suppressionsOf(query)
    if (suppressions.length === 0) return { suppressions: [], next }
    const hash = await readHash(deadlineAt)
    if (!hash) return undefined
    return {
      suppressions: suppressions.map(({ userId, since, erasureId }) => ({ hash: hash(userId), since, erasureId })),
      next,
    }
  }
}
