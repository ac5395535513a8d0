import { askViews, type CatalogState } from '@nextvisit/catalog'
import type { OrganizationConfig } from '@nextvisit/contracts'
import { type LogConnection, withLogAdmin } from '@nextvisit/log'
import { sealedWith } from '@nextvisit/sealing'

interface Configured {
  readonly id: string
  readonly config: OrganizationConfig | null
}

/**
 * Returns a refusal if a running process lacks a key that the new configurations use for the first time: it would refuse the
 * pages of their projects. The processes are asked only if there is such a key.
 */
export async function missingSecretKey(
  connection: LogConnection,
  topic: string,
  state: CatalogState,
  configured: readonly Configured[],
): Promise<string | undefined> {
  const moved = configured.flatMap(({ id, config }) => movedSecrets(state.organizations.get(id)?.config, config))
  if (moved.length === 0) return undefined
  const { secretKeyIds } = await withLogAdmin(connection, (admin) => askViews(admin, topic, state))
  for (const { keyId, project } of moved) {
    const lacking = [...secretKeyIds].flatMap(([view, keyIds]) => (keyIds.includes(keyId) ? [] : view))
    if (lacking.length > 0) {
      return (
        `NEXTVISIT_SECRET_KEY of ${lacking.join(', ')} lacks key ${keyId}, so the pages of ${project} would be refused. ` +
        'Add the key there, restart, and apply again: see docs/runbooks/rotate-secret-key.md.'
      )
    }
  }
  return undefined
}

/** Returns the projects that require a signature, and did not require one under the same key before. */
function movedSecrets(held: OrganizationConfig | null | undefined, wanted: OrganizationConfig | null) {
  const requiring = held?.projects.filter(({ requireUserSignature }) => requireUserSignature)
  const before = new Map(requiring?.map(({ id, signingSecret = '' }) => [id, sealedWith(signingSecret)]))
  return (wanted?.projects ?? []).flatMap(({ id, signingSecret = '', requireUserSignature }) => {
    const keyId = sealedWith(signingSecret)
    if (keyId === undefined || !requireUserSignature || keyId === before.get(id)) return []
    return [{ keyId, project: `${wanted?.id}/${id}` }]
  })
}
