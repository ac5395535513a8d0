import type { ProjectRef } from '@nextvisit/contracts'
import { type KeyRing, sealedWith } from '@nextvisit/sealing'

/** An endpoint of webhooks of a project. */
export interface EndpointRef extends ProjectRef {
  readonly endpointId: string
}

export type DecryptedSecret =
  | { readonly outcome: 'decrypted'; readonly secret: string }
  /** The ring lacks the key with this id, or there is no ring. */
  | { readonly outcome: 'missing-key'; readonly keyId: string }
  /** The text was changed, or encrypted for another project or endpoint. */
  | { readonly outcome: 'damaged' }

/**
 * Encrypts a project's signing secret for the catalog with the newest key of NEXTVISIT_SECRET_KEY. The result names its key,
 * and cannot be decrypted in another project.
 */
export function encryptSigningSecret(secret: string, keyRing: KeyRing, project: ProjectRef): string {
  return keyRing.seal(Buffer.from(secret), contextOfSigning(project))
}

/** Decrypts a signing secret of the catalog. `keyRing`: the keys of NEXTVISIT_SECRET_KEY; undefined if it is not set. */
export function decryptSigningSecret(
  encrypted: string,
  keyRing: KeyRing | undefined,
  project: ProjectRef,
): DecryptedSecret {
  return decrypt(encrypted, keyRing, contextOfSigning(project))
}

/** Encrypts the secret of an endpoint, `whsec_…`, likewise. It cannot be decrypted in another project or endpoint. */
export function encryptWebhookSecret(secret: string, keyRing: KeyRing, endpoint: EndpointRef): string {
  return keyRing.seal(Buffer.from(secret), contextOfWebhook(endpoint))
}

/** Decrypts the secret of an endpoint, `whsec_…`. */
export function decryptWebhookSecret(
  encrypted: string,
  keyRing: KeyRing | undefined,
  endpoint: EndpointRef,
): DecryptedSecret {
  return decrypt(encrypted, keyRing, contextOfWebhook(endpoint))
}

function decrypt(encrypted: string, keyRing: KeyRing | undefined, context: string): DecryptedSecret {
  if (keyRing === undefined) {
    const keyId = sealedWith(encrypted)
    return keyId === undefined ? { outcome: 'damaged' } : { outcome: 'missing-key', keyId }
  }
  const opened = keyRing.open(encrypted, context)
  return opened.outcome === 'opened' ? { outcome: 'decrypted', secret: opened.bytes.toString('utf8') } : opened
}

function contextOfSigning({ organization, project }: ProjectRef): string {
  return `signing-secret:${organization}/${project}`
}

function contextOfWebhook({ organization, project, endpointId }: EndpointRef): string {
  return `webhook-secret:${organization}/${project}/${endpointId}`
}
