import { askViews, type CatalogState } from '@nextvisit/catalog'
import type { OrganizationConfig, ProjectConfig } from '@nextvisit/contracts'
import { type LogConnection, withLogAdmin } from '@nextvisit/log'
import { sealedWith } from '@nextvisit/sealing'

const DISPATCHER = 'webhook-dispatcher'

interface Configured {
  readonly id: string
  readonly config: OrganizationConfig | null
}

/**
 * Returns a refusal if a running process lacks a key that the new configurations use for the first time: it would refuse the
 * pages of their projects, or could not sign their webhooks. The processes are asked only if there is such a key.
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
  for (const { keyId, isOfWebhook, effect } of moved) {
    const using = [...secretKeyIds].filter(([view]) => view.startsWith(`${DISPATCHER}.`) === isOfWebhook)
    const lacking = using.flatMap(([view, keyIds]) => (keyIds.includes(keyId) ? [] : view))
    if (lacking.length > 0) {
      return (
        `NEXTVISIT_SECRET_KEY of ${lacking.join(', ')} lacks key ${keyId}, so ${effect}. ` +
        'Add the key there, restart, and apply again: see docs/runbooks/rotate-secrets.md.'
      )
    }
  }
  return undefined
}

interface MovedSecret {
  readonly keyId: string
  /** The dispatcher opens it, and no other process does. */
  readonly isOfWebhook: boolean
  readonly effect: string
}

/** Returns the secrets in use that the same key did not encrypt before. */
function movedSecrets(
  held: OrganizationConfig | null | undefined,
  wanted: OrganizationConfig | null,
): readonly MovedSecret[] {
  const before = new Map(held?.projects.map((project) => [project.id, project]))
  return (wanted?.projects ?? []).flatMap((project) => {
    const place = `${wanted?.id}/${project.id}`
    const own = before.get(project.id)
    const pages = `the pages of ${place} would be refused`
    return [
      ...movedKey(signingKeyOf(own), signingKeyOf(project)).map((keyId) => ({
        keyId,
        isOfWebhook: false,
        effect: pages,
      })),
      ...project.webhooks.flatMap(({ id, secret }) => {
        const earlier = own?.webhooks.find((webhook) => webhook.id === id)?.secret ?? ''
        const effect = `webhook ${id} of ${place} would not be signed`
        return movedKey(sealedWith(earlier), sealedWith(secret)).map((keyId) => ({ keyId, isOfWebhook: true, effect }))
      }),
    ]
  })
}

/** Returns the key that encrypts the signing secret of a project that requires signatures. */
function signingKeyOf(project: ProjectConfig | undefined): string | undefined {
  return project?.requireUserSignature ? sealedWith(project.signingSecret ?? '') : undefined
}

function movedKey(before: string | undefined, keyId: string | undefined): readonly string[] {
  return keyId === undefined || keyId === before ? [] : [keyId]
}
