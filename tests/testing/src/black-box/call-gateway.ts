import { performance } from 'node:perf_hooks'
import { eventually } from './eventually.ts'

/** Exceeds the limit of every answer, so that late answers are measured. */
const GIVE_UP_AFTER_MS = 15_000

interface GatewayRequest {
  readonly gatewayUrl: string
  /** `/v2/admin/identify-user` */
  readonly route: string
  readonly apiKey: string
  readonly body: Readonly<Record<string, unknown>>
  readonly idempotencyKey?: string
}

/** The outcome of a request as its caller knows it. Times in ms of this process' clock. */
export interface GatewayAnswer {
  /** HTTP status; `undefined` if the connection broke, so that the outcome is unknown. */
  readonly status: number | undefined
  readonly requestId: string | undefined
  readonly answer: Readonly<Record<string, unknown>>
  readonly sentAt: number
  readonly elapsedMs: number
}

/** Sends one request, like a customer's back end or page. Never throws. */
export async function callGateway(request: GatewayRequest): Promise<GatewayAnswer> {
  const sentAt = performance.now()
  const answer = await post(request).catch(() => ({ status: undefined, requestId: undefined, answer: {} }))
  return { ...answer, sentAt, elapsedMs: performance.now() - sentAt }
}

/**
 * Sends one request and retries with the same key while a part is unavailable, for example on a busy machine, or while the gateway still
 * works on an earlier try (409: decisions.md, Retries).
 */
export function callCarefully(request: GatewayRequest): Promise<GatewayAnswer> {
  const careful = { idempotencyKey: crypto.randomUUID(), ...request }
  const isAnswered = ({ status }: GatewayAnswer): boolean => status !== undefined && ![409, 503].includes(status)
  return eventually(() => callGateway(careful), isAnswered, 30_000, 500)
}

async function post(request: GatewayRequest): Promise<Pick<GatewayAnswer, 'status' | 'requestId' | 'answer'>> {
  const { gatewayUrl, route, apiKey, body, idempotencyKey } = request
  const response = await fetch(`${gatewayUrl}${route}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': apiKey,
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(GIVE_UP_AFTER_MS),
  })
  const answer = (await response.json()) as Record<string, unknown>
  return { status: response.status, requestId: response.headers.get('x-request-id') ?? undefined, answer }
}
