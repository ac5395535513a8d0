import type { CatalogState, RunningViews } from '@nextvisit/catalog'
import { type KeyRing, sealedWith } from '@nextvisit/sealing'
import type { StoredKeys } from './stored-keys.ts'

/** A key of NEXTVISIT_SECRET_KEY, here or in a running process, or one that encrypts something. */
export interface SecretKeyStatus {
  readonly keyId: string
  /** Its position in this command's NEXTVISIT_SECRET_KEY. null: it is not there. */
  readonly position: number | null
  /**
   * `encrypts`: apply encrypts with it. `missing`: running processes hold it, and this command lacks it. `needed`: signing
   * secrets, data keys of users or keys of the installation are encrypted with it. `unknown`: not all of these could be
   * counted. `unused`: it can be removed.
   */
  readonly use: 'encrypts' | 'missing' | 'needed' | 'unknown' | 'unused'
  /** The projects whose signing secret it encrypts: `acme/shop`. */
  readonly projects: readonly string[]
  /** Number of data keys of users that it encrypts. null: not known. */
  readonly dataKeys: number | null
  /** Number of keys of the installation that it encrypts. null: not known. */
  readonly installationKeys: number | null
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
  { dataKeys, installationKeys }: StoredKeys,
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
    if (byKey.has(keyId) || dataKeys?.has(keyId) || installationKeys?.has(keyId)) return 'needed'
    return dataKeys && installationKeys ? 'unused' : 'unknown'
  }
  const stored = [...(dataKeys?.keys() ?? []), ...(installationKeys?.keys() ?? [])]
  return Array.from(new Set([...here, ...byKey.keys(), ...rings.flat(), ...stored]), (keyId) => {
    const projects = (byKey.get(keyId) ?? []).map(({ project }) => project)
    return {
      keyId,
      position: here.includes(keyId) ? here.indexOf(keyId) + 1 : null,
      use: useOf(keyId),
      projects,
      dataKeys: dataKeys && (dataKeys.get(keyId) ?? 0),
      installationKeys: installationKeys && (installationKeys.get(keyId) ?? 0),
      holding: [...secretKeyIds].flatMap(([view, held]) => (held.includes(keyId) ? view : [])),
      lacking: [...secretKeyIds].flatMap(([view, held]) => (held.includes(keyId) ? [] : view)),
    }
  })
}

const NAMED_PROJECTS = 3

/** Names the next steps of a rotation for a key. Empty: none. */
export function adviceOn(key: SecretKeyStatus): readonly string[] {
  const { keyId, use, holding, lacking } = key
  const when = use === 'needed' ? ', unless it is lost' : ' before you apply'
  return [
    ...(use === 'missing'
      ? [`${holding.join(', ')} holds key ${keyId}: add it to NEXTVISIT_SECRET_KEY here before you apply.`]
      : []),
    ...(use !== 'unused' && use !== 'unknown' && lacking.length > 0
      ? [`${lacking.join(', ')} lacks key ${keyId}: add it to NEXTVISIT_SECRET_KEY there${when}.`]
      : []),
    ...(use === 'needed' ? stillEncrypted(key) : []),
    ...(use === 'unknown'
      ? [`Keep key ${keyId} in NEXTVISIT_SECRET_KEY until Postgres answers: it may encrypt data keys of users.`]
      : []),
    ...(use === 'unused' ? [`Key ${keyId} encrypts nothing: remove it from NEXTVISIT_SECRET_KEY.`] : []),
  ]
}

function stillEncrypted({ keyId, projects, dataKeys, installationKeys }: SecretKeyStatus): readonly string[] {
  const more = projects.length - NAMED_PROJECTS
  const whose = `${projects.slice(0, NAMED_PROJECTS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  const ofUsers = `${dataKeys} data ${dataKeys === 1 ? 'key of a user' : 'keys of users'}`
  const byEraser = 'a user eraser whose first key is the newest one encrypts'
  return [
    ...(projects.length > 0
      ? [`Key ${keyId} still encrypts the signing secret of ${whose}: apply the workspace file again.`]
      : []),
    ...(dataKeys ? [`Key ${keyId} still encrypts ${ofUsers}: ${byEraser} them again.`] : []),
    ...(installationKeys ? [`Key ${keyId} still encrypts keys of the installation: ${byEraser} them again.`] : []),
  ]
}
