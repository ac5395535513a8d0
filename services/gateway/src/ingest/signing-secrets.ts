import { type CatalogProject, type CatalogView, type DecryptedSecret, decryptSigningSecret } from '@nextvisit/catalog'
import type { KeyRing } from '@nextvisit/sealing'
import type { Logger } from '@nextvisit/service-kit'

export type SigningSecrets = ReturnType<typeof createSigningSecrets>

/** A project's secret; `none`: the catalog has none. */
type ProjectSecret = DecryptedSecret | { readonly outcome: 'none' }

/** Projects whose pages get 503, because this process cannot decrypt their signing secrets. */
export interface UndecryptableSecrets {
  /** The key that NEXTVISIT_SECRET_KEY lacks. undefined: the secrets are damaged. */
  readonly keyId: string | undefined
  /** `acme/shop`. */
  readonly projects: readonly string[]
}

interface SigningSecretsParts {
  readonly catalog: Pick<CatalogView, 'projects'>
  /** The keys of NEXTVISIT_SECRET_KEY; undefined if it is not set. */
  readonly keyRing: KeyRing | undefined
  readonly logger: Pick<Logger, 'error'>
}

/** Creates the decrypted signing secrets of the catalog. Each revision of a project is decrypted once. */
export function createSigningSecrets({ catalog, keyRing, logger }: SigningSecretsParts) {
  const secrets = new WeakMap<CatalogProject, ProjectSecret>()
  const logged = new Set<string>()

  /** Returns the secret of a project. */
  const secretOf = (project: CatalogProject): ProjectSecret => {
    const known = secrets.get(project)
    if (known) return known
    const encrypted = project.config.signingSecret
    const secret: ProjectSecret =
      encrypted === undefined ? { outcome: 'none' } : decryptSigningSecret(encrypted, keyRing, project)
    secrets.set(project, secret)
    if (isUndecryptable(secret)) complain(project, keyIdOf(secret))
    return secret
  }

  /** Logs a missing key once, and a damaged secret once for each project. */
  const complain = (project: CatalogProject, keyId: string | undefined): void => {
    const found = { keyId, projects: [nameOf(project)] }
    const message = describeUndecryptable(found)
    if (logged.has(keyId ?? message)) return
    logged.add(keyId ?? message)
    logger.error(found, message)
  }

  /** Lists the projects that require a signature, but whose secret cannot be decrypted, by the missing key. */
  const undecryptable = (): readonly UndecryptableSecrets[] => {
    const found = [...catalog.projects()].flatMap((project) => {
      const secret = project.config.requireUserSignature ? secretOf(project) : undefined
      return secret && isUndecryptable(secret) ? [{ keyId: keyIdOf(secret), name: nameOf(project) }] : []
    })
    const byKey = Map.groupBy(found, ({ keyId }) => keyId)
    return Array.from(byKey, ([keyId, same]) => ({ keyId, projects: same.map(({ name }) => name) }))
  }

  return { secretOf, undecryptable }
}

function isUndecryptable({ outcome }: ProjectSecret): boolean {
  return outcome === 'missing-key' || outcome === 'damaged'
}

function keyIdOf(secret: ProjectSecret): string | undefined {
  return secret.outcome === 'missing-key' ? secret.keyId : undefined
}

function nameOf({ organization, project }: CatalogProject): string {
  return `${organization}/${project}`
}

/** Describes the cause and the remedy. */
export function describeUndecryptable({ keyId, projects: [first, ...more] }: UndecryptableSecrets): string {
  const whose = `${first}${more.length > 0 ? ` and ${more.length} more` : ''}`
  return keyId === undefined
    ? `The signing secret of ${whose} is damaged: apply the workspace file again`
    : `NEXTVISIT_SECRET_KEY lacks key ${keyId}, which encrypts the signing secret of ${whose}: see docs/runbooks/rotate-secrets.md`
}
