import { performance } from 'node:perf_hooks'

/** What a caller knows of one request: what it asked, and what it was told, if anything. */
export interface LedgerEntry {
  readonly route: 'identify-user' | 'track-event'
  readonly body: Readonly<Record<string, unknown>>
  /** HTTP status; `undefined`: the connection broke, so the caller can't know. */
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly answer: Readonly<Record<string, unknown>>
  readonly elapsedMs: number
}

/** Sends requests as a customer's back end would, and writes down every one of them with its answer. */
export interface CallerLedger {
  readonly send: (route: LedgerEntry['route'], body: Readonly<Record<string, unknown>>) => Promise<LedgerEntry>
  readonly entries: () => readonly LedgerEntry[]
}

export function createCallerLedger(gatewayUrl: string, adminKey: string): CallerLedger {
  const entries: LedgerEntry[] = []
  return {
    entries: () => entries,
    send: async (route, body) => {
      const startedAt = performance.now()
      const answer = await post(`${gatewayUrl}/v2/admin/${route}`, adminKey, body)
      const entry = { route, body, ...answer, elapsedMs: performance.now() - startedAt }
      entries.push(entry)
      return entry
    },
  }
}

async function post(
  url: string,
  key: string,
  body: object,
): Promise<Pick<LedgerEntry, 'status' | 'requestId' | 'answer'>> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': key },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    })
    const answer = (await response.json()) as Record<string, unknown>
    return { status: response.status, requestId: response.headers.get('x-request-id') ?? undefined, answer }
  } catch {
    return { status: undefined, requestId: undefined, answer: {} }
  }
}
