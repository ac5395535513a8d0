import type { CatalogState, RunningViews } from '@nextvisit/catalog'
import { type KeyRing, sealedWith } from '@nextvisit/sealing'

/** A key of NEXTVISIT_SECRET_KEY, here or in a running process, or one that encrypts a signing secret. */
export interface SecretKeyStatus {
  readonly keyId: string
  /** Its position in this command's NEXTVISIT_SECRET_KEY. null: it is not there. */
  readonly position: number | null
  /**
   * `encrypts`: apply encrypts with it. `missing`: running processes hold it, and this command lacks it. `needed`: signing
   * secrets are encrypted with it. `unused`: it can be removed.
   */
  readonly use: 'encrypts' | 'missing' | 'needed' | 'unused'
  /** The projects whose signing secret it encrypts: `acme/shop`. */
  readonly projects: readonly string[]
  /** The running processes that hold the key. */
  readonly holding: readonly string[]
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
  // A process that holds the key behind the newest one here shows that it is an older key.
  const isMissing = (keyId: string): boolean => {
    if (!keyRing || here.includes(keyId)) return false
    const holding = rings.filter((held) => held.includes(keyId))
    const isOlder = holding.some((held) => held.slice(0, held.indexOf(keyId)).includes(keyRing.newestKeyId))
    return holding.length > 0 && !isOlder
  }
  const useOf = (keyId: string): SecretKeyStatus['use'] => {
    if (newest.has(keyId)) return 'encrypts'
    if (isMissing(keyId)) return 'missing'
    return byKey.has(keyId) ? 'needed' : 'unused'
  }
  return Array.from(new Set([...here, ...byKey.keys(), ...rings.flat()]), (keyId) => {
    const projects = (byKey.get(keyId) ?? []).map(({ project }) => project)
    return {
      keyId,
      position: here.includes(keyId) ? here.indexOf(keyId) + 1 : null,
      use: useOf(keyId),
      projects,
      holding: [...secretKeyIds].flatMap(([view, held]) => (held.includes(keyId) ? view : [])),
      lacking: [...secretKeyIds].flatMap(([view, held]) => (held.includes(keyId) ? [] : view)),
    }
  })
}

const NAMED_PROJECTS = 3

/** Names the next step of a rotation for a key. Empty: none. */
export function adviceOn({ keyId, use, projects, holding, lacking }: SecretKeyStatus): readonly string[] {
  const more = projects.length - NAMED_PROJECTS
  const whose = `${projects.slice(0, NAMED_PROJECTS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  const when = use === 'needed' ? ', unless it is lost' : ' before you apply'
  return [
    ...(use === 'missing'
      ? [`${holding.join(', ')} holds key ${keyId}: add it to NEXTVISIT_SECRET_KEY here before you apply.`]
      : []),
    ...(use !== 'unused' && lacking.length > 0
      ? [`${lacking.join(', ')} lacks key ${keyId}: add it to NEXTVISIT_SECRET_KEY there${when}.`]
      : []),
    ...(use === 'needed'
      ? [`Key ${keyId} still encrypts the signing secret of ${whose}: apply the workspace file again.`]
      : []),
    ...(use === 'unused' ? [`Key ${keyId} encrypts no signing secret: remove it from NEXTVISIT_SECRET_KEY.`] : []),
  ]
}
