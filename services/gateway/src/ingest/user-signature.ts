import { createHmac, timingSafeEqual } from 'node:crypto'
import { type CatalogProject, decryptSigningSecret } from '@nextvisit/catalog'

/** A body that concerns one user. */
export interface SignedBody {
  readonly userName: string
  readonly userSignature?: string | undefined
}

/**
 * Creates the check of `userSignature`, the HMAC-SHA256 of userName in hex, of an SDK request (decisions.md, Beyond the
 * document). `secretKey`: NEXTVISIT_SECRET_KEY, which decrypts the signing secrets of the catalog.
 */
export function createCheckSignature(secretKey: string | undefined) {
  const secrets = new WeakMap<CatalogProject, string>()
  const secretOf = (project: CatalogProject) => {
    const known = secrets.get(project)
    const encrypted = project.config.signingSecret
    if (known !== undefined || encrypted === undefined || secretKey === undefined) return known
    const secret = decryptSigningSecret(encrypted, secretKey, project)
    if (secret !== undefined) secrets.set(project, secret)
    return secret
  }
  return (project: CatalogProject, { userName, userSignature }: SignedBody): boolean => {
    if (!project.config.requireUserSignature) return true
    const secret = secretOf(project)
    if (secret === undefined || userSignature === undefined || !/^[0-9a-f]{64}$/i.test(userSignature)) return false
    const expected = createHmac('sha256', secret).update(userName).digest()
    return timingSafeEqual(expected, Buffer.from(userSignature, 'hex'))
  }
}
