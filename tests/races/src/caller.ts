import { callGateway, type GatewayAnswer, keyNamed } from '@nextvisit/testing/black-box'

/** A request of a back end, and its answer. */
export interface Call extends GatewayAnswer {
  readonly body: Readonly<Record<string, unknown>>
}

/** Sends a request of an organization's back end through one gateway. */
export type Caller = (route: 'identify-user' | 'track-event', body: Call['body']) => Promise<Call>

/** Creates a caller for each gateway. Returns a function that takes them in turn. */
export function callersOf(gatewayUrls: readonly string[], organization: string): (sequence: number) => Caller {
  const callers = gatewayUrls.map(
    (gatewayUrl): Caller =>
      async (route, body) => {
        const request = { gatewayUrl, route: `/v2/admin/${route}`, apiKey: keyOf(organization), body }
        return { body, ...(await callGateway(request)) }
      },
  )
  return (sequence) => callers[sequence % callers.length] as Caller
}

/** Returns the admin key of an organization's project. */
export function keyOf(organization: string): string {
  return keyNamed(`${organization.toUpperCase().replaceAll('-', '_')}_ADMIN_P`)
}
