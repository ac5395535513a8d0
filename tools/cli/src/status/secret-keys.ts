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
   * secrets, secrets of webhooks, data keys of users or keys of the installation are encrypted with it. `unknown`: not all of
   * these could be counted. `unused`: it can be removed.
   */
  readonly use: 'encrypts' | 'missing' | 'needed' | 'unknown' | 'unused'
  /** The projects whose signing secret it encrypts: `acme/shop`. */
  readonly projects: readonly string[]
  /** The webhooks whose secrets it encrypts, or the previous one while it signs: `acme/shop/crm`. */
  readonly webhooks: readonly string[]
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
  now: Date,
): readonly SecretKeyStatus[] {
  const projects = [...organizations].flatMap(([organization, { config }]) =>
    (config?.projects ?? []).map((project) => ({ place: `${organization}/${project.id}`, project })),
  )
  const ofProjects = ownersByKey(projects.map(({ place, project }) => [place, project.signingSecret ?? '']))
  const ofWebhooks = ownersByKey(
    projects.flatMap(({ place, project }) =>
      project.webhooks.flatMap(({ id, secret, previousSecret }): (readonly [string, string])[] => {
        const signs = previousSecret !== undefined && Date.parse(previousSecret.until) > now.getTime()
        return [secret, ...(signs ? [previousSecret.secret] : [])].map((one) => [`${place}/${id}`, one])
      }),
    ),
  )
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
    if (ofProjects.has(keyId) || ofWebhooks.has(keyId) || dataKeys?.has(keyId) || installationKeys?.has(keyId))
      return 'needed'
    return dataKeys && installationKeys ? 'unused' : 'unknown'
  }
  const stored = [...(dataKeys?.keys() ?? []), ...(installationKeys?.keys() ?? [])]
  const named = [...here, ...ofProjects.keys(), ...ofWebhooks.keys(), ...rings.flat(), ...stored]
  return Array.from(new Set(named), (keyId) => {
    return {
      keyId,
      position: here.includes(keyId) ? here.indexOf(keyId) + 1 : null,
      use: useOf(keyId),
      projects: [...(ofProjects.get(keyId) ?? [])],
      webhooks: [...(ofWebhooks.get(keyId) ?? [])],
      dataKeys: dataKeys && (dataKeys.get(keyId) ?? 0),
      installationKeys: installationKeys && (installationKeys.get(keyId) ?? 0),
      holding: [...secretKeyIds].flatMap(([view, held]) => (held.includes(keyId) ? view : [])),
      lacking: [...secretKeyIds].flatMap(([view, held]) => (held.includes(keyId) ? [] : view)),
    }
  })
}

/** Returns the owners of secrets by the key that encrypts them. */
function ownersByKey(
  secrets: readonly (readonly [owner: string, secret: string])[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const owners = new Map<string, Set<string>>()
  for (const [owner, secret] of secrets) {
    const keyId = sealedWith(secret)
    if (keyId !== undefined) owners.set(keyId, (owners.get(keyId) ?? new Set()).add(owner))
  }
  return owners
}

const NAMED_OWNERS = 3

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

function stillEncrypted(key: SecretKeyStatus): readonly string[] {
  const { keyId, projects, webhooks, dataKeys, installationKeys } = key
  const ofUsers = `${dataKeys} data ${dataKeys === 1 ? 'key of a user' : 'keys of users'}`
  const byEraser = 'a user eraser whose first key is the newest one encrypts'
  const again = 'apply the workspace file again'
  return [
    ...(projects.length > 0
      ? [`Key ${keyId} still encrypts the signing secret of ${listed(projects)}: ${again}.`]
      : []),
    ...(webhooks.length > 0 ? [`Key ${keyId} still encrypts a secret of webhook ${listed(webhooks)}: ${again}.`] : []),
    ...(dataKeys ? [`Key ${keyId} still encrypts ${ofUsers}: ${byEraser} them again.`] : []),
    ...(installationKeys ? [`Key ${keyId} still encrypts keys of the installation: ${byEraser} them again.`] : []),
  ]
}

function listed(owners: readonly string[]): string {
  const more = owners.length - NAMED_OWNERS
  return `${owners.slice(0, NAMED_OWNERS).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
