import type http from 'node:http'
import { type CatalogView, decryptWebhookSecret, type EndpointRef } from '@nextvisit/catalog'
import type { Webhook } from '@nextvisit/contracts'
import type { KeyRing } from '@nextvisit/sealing'
import type { Logger } from '@nextvisit/service-kit'
import { endpointKeyOf, endpointsOf, hasEndpoints, webhookOf } from '../endpoints.ts'
import type { Connector } from './connector.ts'
import { createEndpointAgent } from './send-request.ts'
import type { SigningSecrets } from './signature.ts'

/** An endpoint of the catalog that this process can send to. */
export interface Endpoint extends EndpointRef {
  readonly webhook: Webhook
  readonly url: URL
  readonly secrets: SigningSecrets
}

interface EndpointsParts {
  readonly catalog: Pick<CatalogView, 'project' | 'projects' | 'onChange'>
  /** The keys of NEXTVISIT_SECRET_KEY; undefined if it is not set. */
  readonly keyRing: KeyRing | undefined
  readonly connector: Connector
  readonly logger: Pick<Logger, 'error'>
}

export type Endpoints = ReturnType<typeof createEndpoints>

/** Creates the endpoints of the catalog, with their open connections. */
export function createEndpoints({ catalog, keyRing, connector, logger }: EndpointsParts) {
  /** Each revision of an endpoint is decrypted once. undefined: this process cannot. */
  const decrypted = new WeakMap<Webhook, SigningSecrets | undefined>()
  const agents = new Map<string, http.Agent>()
  let hasSome: boolean | undefined
  catalog.onChange(() => {
    hasSome = undefined
    closeUnused()
  })

  /** Returns an endpoint; undefined: the catalog has none, or this process cannot send to it. */
  function find(ref: EndpointRef): Endpoint | undefined {
    const webhook = webhookOf(catalog, ref)
    const url = URL.parse(webhook?.url ?? '')
    if (!webhook || !url || !/^https?:$/.test(url.protocol)) return undefined
    const { organization, project, endpointId } = ref
    const secrets = secretsOf(ref, webhook)
    return secrets && { organization, project, endpointId, webhook, url, secrets }
  }

  function secretsOf(ref: EndpointRef, webhook: Webhook): SigningSecrets | undefined {
    if (decrypted.has(webhook)) return decrypted.get(webhook)
    const secrets = decrypt(ref, webhook)
    decrypted.set(webhook, secrets)
    return secrets
  }

  function decrypt(ref: EndpointRef, { secret, previousSecret }: Webhook): SigningSecrets | undefined {
    const current = decryptWebhookSecret(secret, keyRing, ref)
    if (current.outcome !== 'decrypted') {
      const keyId = current.outcome === 'missing-key' ? current.keyId : undefined
      logger.error({ endpoint: endpointKeyOf(ref), keyId }, SECRET_UNREADABLE[current.outcome])
      return undefined
    }
    // A rotation goes on without a previous secret that cannot be read.
    const previous = previousSecret && decryptWebhookSecret(previousSecret.secret, keyRing, ref)
    return {
      secret: current.secret,
      previous:
        previousSecret && previous?.outcome === 'decrypted'
          ? { secret: previous.secret, until: previousSecret.until }
          : undefined,
    }
  }

  /** Returns the connections of an endpoint. Endpoints share none, so none waits for another. */
  function agentOf(endpoint: Endpoint): http.Agent {
    const name = `${endpointKeyOf(endpoint)} ${endpoint.url.protocol}`
    const agent = agents.get(name) ?? createEndpointAgent(endpoint.url.protocol, connector)
    agents.set(name, agent)
    return agent
  }

  /** Closes the idle connections of endpoints that are removed. Those in use end with their request. */
  function closeUnused(): void {
    const used = new Set(endpointsOf(catalog).map(endpointKeyOf))
    for (const [name, agent] of agents) {
      if (used.has(name.split(' ')[0] ?? '')) continue
      agents.delete(name)
      for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
    }
  }

  return {
    /** Returns true if any project has a webhook. */
    hasSome: (): boolean => {
      hasSome ??= hasEndpoints(catalog)
      return hasSome
    },
    find,
    agentOf,
    close: (): void => {
      for (const agent of agents.values()) agent.destroy()
    },
  }
}

const SECRET_UNREADABLE = {
  'missing-key':
    'NEXTVISIT_SECRET_KEY lacks the key that encrypts the secret of an endpoint of webhooks; its deliveries wait: see docs/runbooks/rotate-secrets.md',
  damaged: 'The secret of an endpoint of webhooks is damaged; its deliveries wait: apply the workspace file again',
} as const
