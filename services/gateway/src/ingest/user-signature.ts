import { createHmac, timingSafeEqual } from 'node:crypto'
import { type CatalogProject, decryptSigningSecret } from '@nextvisit/catalog'

/** A body about one user. */
export interface SignedBody {
  readonly userName: string
  readonly userSignature?: string | undefined
}

/** Whether an SDK request may speak for this user: `userSignature` is the hex HMAC-SHA256 of userName (decisions.md, Beyond the document). */
export type CheckSignature = (project: CatalogProject, body: SignedBody) => boolean

/** `secretKey`: NEXTVISIT_SECRET_KEY, under which the catalog holds signing secrets. */
export function createCheckSignature(secretKey: string | undefined): CheckSignature {
  const secrets = new WeakMap<CatalogProject, string>()
  const secretOf = (project: CatalogProject) => {
    const known = secrets.get(project)
    const encrypted = project.config.signingSecret
    if (known !== undefined || encrypted === undefined || secretKey === undefined) return known
    const secret = decryptSigningSecret(encrypted, secretKey, project)
    if (secret !== undefined) secrets.set(project, secret)
    return secret
  }
  return (project, { userName, userSignature }) => {
    if (!project.config.requireUserSignature) return true
    const secret = secretOf(project)
    if (secret === undefined || userSignature === undefined || !/^[0-9a-f]{64}$/i.test(userSignature)) return false
    const expected = createHmac('sha256', secret).update(userName).digest()
    return timingSafeEqual(expected, Buffer.from(userSignature, 'hex'))
  }
}
