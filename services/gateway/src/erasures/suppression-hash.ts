import type { userEraserCalls } from '@nextvisit/contracts'
import { createSuppressionHash, type KeyRing } from '@nextvisit/sealing'
import type { CallClient, Logger } from '@nextvisit/service-kit'

interface SuppressionHashParts {
  readonly userEraser: Pick<CallClient<typeof userEraserCalls>, 'readInstallationKeys'>
  readonly keyRing: KeyRing | undefined
  readonly logger: Logger
}

/** Returns the function that hashes suppressed users; undefined while its key cannot be read or opened. */
export type SuppressionHash = (deadlineAt: number) => Promise<((userId: string) => string) | undefined>

/** Creates the source of the hash. Its key never changes, so it is read once. */
export function createSuppressionHashSource({ userEraser, keyRing, logger }: SuppressionHashParts): SuppressionHash {
  let hashOf: ((userId: string) => string) | undefined
  return async (deadlineAt) => {
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
}
