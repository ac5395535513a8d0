import type { CatalogState, RunningViews } from '@nextvisit/catalog'
import { type KeyRing, sealedWith } from '@nextvisit/sealing'

/** A key of NEXTVISIT_SECRET_KEY, here or in a running process, or one that encrypts a signing secret. */
export interface SecretKeyStatus {
  readonly keyId: string
  /** Its position in this command's NEXTVISIT_SECRET_KEY. null: it is not there. */
  readonly position: number | null
  /** `encrypts`: apply encrypts with it. `needed`: signing secrets are encrypted with it. `unused`: it can be removed. */
  readonly use: 'encrypts' | 'needed' | 'unused'
  /** The projects whose signing secret it encrypts: `acme/shop`. */
  readonly projects: readonly string[]
  /** The running processes that read NEXTVISIT_SECRET_KEY but lack the key. */
  readonly lacking: readonly string[]
}

/** Lists the keys in the order of the ring, then the others. */
export function secretKeysOf(
  { organizations }: CatalogState,
  { secretKeyIds }: Pick<RunningViews, 'secretKeyIds'>,
  keyRing: KeyRing | undefined,
): readonly SecretKeyStatus[] {
  const secrets = [...organizations].flatMap(([organization, { config }]) =>
    (config?.projects ?? []).flatMap(({ id, signingSecret = '' }) => {
      const keyId = sealedWith(signingSecret)
      return keyId === undefined ? [] : [{ keyId, project: `${organization}/${id}` }]
    }),
  )
  const byKey = Map.groupBy(secrets, ({ keyId }) => keyId)
  const here = keyRing?.keyIds ?? []
  const rings = [...secretKeyIds.values()]
  // Without a ring here, the first key of a process is the best guess.
  const newest = new Set(keyRing ? [keyRing.newestKeyId] : rings.flatMap(([first]) => first ?? []))
  return Array.from(new Set([...here, ...byKey.keys(), ...rings.flat()]), (keyId) => {
    const projects = (byKey.get(keyId) ?? []).map(({ project }) => project)
    return {
      keyId,
      position: here.includes(keyId) ? here.indexOf(keyId) + 1 : null,
      use: newest.has(keyId) ? 'encrypts' : projects.length > 0 ? 'needed' : 'unused',
      projects,
      lacking: [...secretKeyIds].flatMap(([view, held]) => (held.includes(keyId) ? [] : view)),
    }
  })
}

const NAMED_PROJECTS = 3

/** Names the next step of a rotation for a key. Empty: none. */
export function adviceOn({ keyId, use, projects, lacking }: SecretKeyStatus): readonly string[] {
  const more = projects.length - NAMED_PROJECTS
  const whose = `${projects.slice(0, NAMED_PROJECTS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  const when = use === 'encrypts' ? ' before you apply' : ', unless it is lost'
  return [
    ...(use !== 'unused' && lacking.length > 0
      ? [`${lacking.join(', ')} lacks key ${keyId}: add it to NEXTVISIT_SECRET_KEY there${when}.`]
      : []),
    ...(use === 'needed'
      ? [`Key ${keyId} still encrypts the signing secret of ${whose}: apply the workspace file again.`]
      : []),
    ...(use === 'unused' ? [`Key ${keyId} encrypts no signing secret: remove it from NEXTVISIT_SECRET_KEY.`] : []),
  ]
}
