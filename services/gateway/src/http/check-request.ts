import type { IncomingMessage } from 'node:http'
import type { CatalogKey, CatalogView } from '@nextvisit/catalog'
import { type JsonObject, memberOf, parseJson } from '@nextvisit/domain'
import type { Bill } from '../billing/bill.ts'
import { idempotentRequestOf } from '../idempotency/idempotent-request.ts'
import { type Refusal, REFUSALS, refuse, refuseBody } from '../refusals/refusals.ts'
import type { createCallerAddress } from './caller-address.ts'
import { createFindKey, isKeyInBody, keyInHeaders, writeKeyIn } from './find-key.ts'
import { type BodyReaderOptions, createBodyReader, isEmpty, type ReceivedBody } from './body/read-body.ts'
import { admissionBudgetMs } from './request-budget.ts'
import type { Aborted, CheckedRequest, Route } from './route.ts'
import type { RequestTrace } from './trace-parent.ts'

const NO_BODY = { outcome: 'ok', body: {} } as const

export interface CheckRequestParts extends BodyReaderOptions {
  readonly catalog: CatalogView
  readonly requestBudgetMs: number
  readonly callerAddress: ReturnType<typeof createCallerAddress>
}

/** One request, as far as its checks came. Its refusal names the key and the body known by then. */
export interface RequestState {
  readonly route: Route
  readonly parameters: URLSearchParams
  readonly request: IncomingMessage
  /** A `performance.now()` instant. */
  readonly beganAt: number
  /** Not sampled before the key is known. */
  trace: RequestTrace
  /** Replaced by the id that a request with an `Idempotency-Key` shares with its repeats. */
  requestId: string
  /** When the body had arrived, ms since the epoch. */
  receivedMs: number
  /** The end of the request's budget, a `performance.now()` instant. It begins once the body has arrived. */
  deadlineAt: number
  key: CatalogKey | undefined
  /** The key, if it came in the body. */
  writeKey: string | undefined
  bill: Bill | undefined
  /** Held until `release`, as is the place in flight. */
  received: ReceivedBody | undefined
  /** Bytes of the body so far, as sent and as inflated. */
  readBytes: number
  isInFlight: boolean
  body: JsonObject | undefined
}

/** Creates the checks of the key and the body that all routes share (decisions.md, Order of checks). */
export function createRequestChecks(parts: CheckRequestParts) {
  const { catalog, requestBudgetMs, callerAddress } = parts
  const findKey = createFindKey(catalog)
  const readBody = createBodyReader(parts)

  async function receive(state: RequestState, keyHash?: string): Promise<Refusal | Aborted | undefined> {
    const read = await readBody(state, keyHash)
    if (read.outcome !== 'received') return read
    state.received = read
    return undefined
  }

  return {
    /** Finds the key in the headers, or else reads the body that contains it. */
    authenticate: async (state: RequestState): Promise<CatalogKey | Refusal | Aborted> => {
      const { route, request } = state
      if (isKeyInBody(route, request)) {
        const failed = await receive(state)
        if (failed) return failed
      }
      const { received } = state
      if (received) state.writeKey = writeKeyIn(received.bytes)
      const keyText = received ? state.writeKey : keyInHeaders(route, request)
      const key = keyText === undefined ? undefined : findKey(keyText)
      if (!key) return refuse(catalog.currentAsOfMs() === 0 ? REFUSALS.noCatalog : REFUSALS.key)
      state.key = key
      if (key.entry.kind !== route.keyKind) return refuse(REFUSALS.kindOfKey(route.keyKind))
      return route.permission && key.entry[route.permission] !== true ? refuse(REFUSALS[route.permission]) : key
    },

    /** Reads the body, within its key's share of the memory. Undefined: it has arrived, or the route has none. */
    receiveBody: async (state: RequestState, { entry }: CatalogKey): Promise<Refusal | Aborted | undefined> => {
      const { received, route } = state
      if (received) return received.moveTo(entry.sha256) ? undefined : refuse(REFUSALS.tooManyBytes)
      if (route.method !== 'POST' || route.hasNoBody || (route.isCommand && isEmpty(state.request))) return undefined
      return receive(state, entry.sha256)
    },

    /** Parses the body, and derives the id of the request from its `Idempotency-Key`. */
    parse: (state: RequestState, key: CatalogKey): CheckedRequest | Refusal => {
      const { route, request, trace, parameters, received, receivedMs, deadlineAt } = state
      const parsed = received ? (route.parseBody ?? parseJson)(received.bytes) : NO_BODY
      if (parsed.outcome === 'rejected') return refuseBody(parsed)
      const { body } = parsed
      // The key's text was found, but perhaps in another member.
      if (state.writeKey !== undefined && memberOf(body, 'writeKey') !== state.writeKey) {
        state.key = undefined
        return refuse(REFUSALS.key)
      }
      state.body = body
      const idempotency = received
        ? idempotentRequestOf(key, {
            key: request.headers['idempotency-key'],
            route: route.pattern,
            bytes: route.repeatedContent?.(body) ?? received.bytes,
          })
        : 'none'
      if (typeof idempotency === 'object') state.requestId = idempotency.recordId
      return {
        requestId: state.requestId,
        traceparent: trace.traceparent,
        receivedMs,
        deadlineAt,
        admissionDeadlineAt: performance.now() + admissionBudgetMs(requestBudgetMs),
        key,
        project: key.project,
        callerAddress: () => callerAddress(request),
        body,
        header: (name) => [request.headers[name]].flat().at(0),
        idempotency,
        parameters,
      }
    },
  }
}
