import { callGateway, type GatewayAnswer } from './call-gateway.ts'

/** A request and its answer, if it got one. */
export interface LedgerEntry extends GatewayAnswer {
  readonly route: 'identify-user' | 'track-event'
  readonly body: Readonly<Record<string, unknown>>
}

/** Sends requests like a customer's back end, and records each one with its answer. */
export interface CallerLedger {
  readonly send: (route: LedgerEntry['route'], body: Readonly<Record<string, unknown>>) => Promise<LedgerEntry>
  readonly entries: () => readonly LedgerEntry[]
}

export function createCallerLedger(gatewayUrl: string, adminKey: string): CallerLedger {
  const entries: LedgerEntry[] = []
  return {
    entries: () => entries,
    send: async (route, body) => {
      const answer = await callGateway({ gatewayUrl, route: `/v2/admin/${route}`, apiKey: adminKey, body })
      const entry = { route, body, ...answer }
      entries.push(entry)
      return entry
    },
  }
}
