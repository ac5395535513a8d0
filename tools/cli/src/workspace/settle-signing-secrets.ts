import { decryptSigningSecret } from '@nextvisit/catalog'
import type { OrganizationConfig, ProjectConfig, ProjectRef } from '@nextvisit/contracts'
import { type KeyRing, sealedWith } from '@nextvisit/sealing'

/** Two configurations of an organization, with comparable signing secrets. */
interface SettledSecrets {
  /** The configuration of the catalog, for a comparison. A secret that is only re-encrypted does not differ. */
  readonly held: OrganizationConfig
  readonly wanted: OrganizationConfig
  /** Projects whose unchanged secret moves to the newest key. */
  readonly reencrypted: readonly string[]
}

/**
 * Compares the signing secrets of a file with those of the catalog, because encrypting a secret again gives another
 * ciphertext. An unchanged secret keeps its ciphertext if the newest key encrypts it; else it takes the file's.
 */
export function settleSigningSecrets(
  held: OrganizationConfig,
  wanted: OrganizationConfig,
  keyRing: KeyRing | undefined,
): SettledSecrets {
  if (!keyRing) return { held, wanted, reencrypted: [] }
  const before = new Map(held.projects.map((project) => [project.id, project]))
  const verdicts = new Map(
    wanted.projects.map((project) => {
      const ref = { organization: wanted.id, project: project.id }
      return [project.id, compareSecrets(before.get(project.id)?.signingSecret, project, ref, keyRing)]
    }),
  )
  return {
    held: {
      ...held,
      projects: held.projects.map((project) => {
        const verdict = verdicts.get(project.id)
        if (verdict === 'reencrypted') {
          const next = wanted.projects.find(({ id }) => id === project.id)?.signingSecret
          return { ...project, signingSecret: next }
        }
        // Without a key, so that it reads as another secret even if it is under another key.
        return verdict === 'another' ? { ...project, signingSecret: '' } : project
      }),
    },
    wanted: {
      ...wanted,
      projects: wanted.projects.map((project) =>
        verdicts.get(project.id) === 'kept'
          ? { ...project, signingSecret: before.get(project.id)?.signingSecret }
          : project,
      ),
    },
    reencrypted: wanted.projects.flatMap(({ id }) => (verdicts.get(id) === 'reencrypted' ? [id] : [])),
  }
}

/** `unknown`: there are not two secrets, or the held one cannot be decrypted. */
type Verdict = 'kept' | 'reencrypted' | 'another' | 'unknown'

function compareSecrets(
  held: string | undefined,
  { signingSecret: wanted }: ProjectConfig,
  ref: ProjectRef,
  keyRing: KeyRing,
): Verdict {
  if (held === undefined || wanted === undefined) return 'unknown'
  const [before, after] = [decryptSigningSecret(held, keyRing, ref), decryptSigningSecret(wanted, keyRing, ref)]
  if (before.outcome !== 'decrypted' || after.outcome !== 'decrypted') return 'unknown'
  if (before.secret !== after.secret) return 'another'
  return sealedWith(held) === keyRing.newestKeyId ? 'kept' : 'reencrypted'
}
