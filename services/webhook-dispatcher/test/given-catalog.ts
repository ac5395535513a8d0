import { randomBytes, randomUUID } from 'node:crypto'
import { type CatalogView, emptyCatalog, encryptWebhookSecret, foldCatalog, lookupsOf } from '@nextvisit/catalog'
import { OrganizationConfig, type Webhook } from '@nextvisit/contracts'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'

export const PROJECT = { organization: 'acme', project: 'shop' }
export const ADDED_AT = '2026-11-01T10:00:00.000Z'
export const RING = givenKeyRing('ab'.repeat(32))

export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

/** An endpoint as `apply` writes it. */
export interface GivenWebhook extends Partial<Omit<Webhook, 'secret' | 'previousSecret'>> {
  readonly id: string
  readonly url: string
  readonly secret?: string
  readonly previousSecret?: { readonly secret: string; readonly until: string }
}

/** A catalog that a spec changes. */
export function givenCatalog() {
  const state = emptyCatalog()
  const listeners: ((organization: string) => void)[] = []
  let revision = 0
  const setWebhooks = (...webhooks: readonly GivenWebhook[]): void => {
    const seal = (id: string, secret: string) => encryptWebhookSecret(secret, RING, { ...PROJECT, endpointId: id })
    const config = OrganizationConfig.parse({
      id: PROJECT.organization,
      projects: [
        {
          id: PROJECT.project,
          webhooks: webhooks.map(({ secret = newSecret(), previousSecret, ...own }) => ({
            addedAt: ADDED_AT,
            ...own,
            secret: seal(own.id, secret),
            ...(previousSecret && {
              previousSecret: { ...previousSecret, secret: seal(own.id, previousSecret.secret) },
            }),
          })),
        },
      ],
    })
    revision += 1
    const { organization } = PROJECT
    foldCatalog(state, { outcome: 'read', id: randomUUID(), organization, revision, config, notUnderstood: [] })
    for (const listener of listeners) listener(organization)
  }
  const view: CatalogView = {
    ...lookupsOf(state),
    onChange: (listener) => void listeners.push(listener),
    currentAsOfMs: () => Number.POSITIVE_INFINITY,
  }
  return { view, setWebhooks }
}
