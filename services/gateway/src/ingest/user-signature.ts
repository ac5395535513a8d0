import { createHmac, timingSafeEqual } from 'node:crypto'
import type { CatalogProject } from '@nextvisit/catalog'
import { signingSecretsIn } from '@nextvisit/domain'
import type { SigningSecrets } from './signing-secrets.ts'

/** A body that concerns one user. */
export interface SignedBody {
  readonly userName: string
  readonly userSignature?: string | undefined
}

/** `unverifiable`: this process cannot decrypt the project's signing secret. */
export type CheckedSignature = 'valid' | 'invalid' | 'unverifiable'

/**
 * Creates the check of `userSignature`, the HMAC-SHA256 of userName in hex, of an SDK request (decisions.md, Beyond the
 * document).
 */
export function createCheckSignature({ secretOf }: Pick<SigningSecrets, 'secretOf'>) {
  return (project: CatalogProject, { userName, userSignature }: SignedBody): CheckedSignature => {
    if (!project.config.requireUserSignature) return 'valid'
    if (userSignature === undefined || !/^[0-9a-f]{64}$/i.test(userSignature)) return 'invalid'
    const secret = secretOf(project)
    if (secret.outcome === 'none') return 'invalid'
    if (secret.outcome !== 'decrypted') return 'unverifiable'
    const given = Buffer.from(userSignature, 'hex')
    const isSigned = signingSecretsIn(secret.secret).some((one) =>
      timingSafeEqual(createHmac('sha256', one).update(userName).digest(), given),
    )
    return isSigned ? 'valid' : 'invalid'
  }
}
