import { expect } from 'vitest'
import { keyNamed } from '@nextvisit/testing/black-box'
import { type ApiAnswer, call, JSON_TYPE } from './call.ts'
import { segmentMessageOf } from './segment-message.ts'

/** Body of a case. `Infinity` represents a JSON number that is too large, a `bigint` its digits. */
type CaseBody = Readonly<Record<string, unknown>>

/** A request in the form of its single admin route. */
export interface CaseRequest {
  readonly type: 'identify' | 'track'
  /** Body, or a function if the body contains the time. */
  readonly body: CaseBody | (() => CaseBody)
}

/** Answer to one request, alone or in a batch. */
export type RequestOutcome = Pick<ApiAnswer, 'status' | 'body'>

/** Outcome of an accepted message on Segment's routes, which do not list it. */
export const ACCEPTED: RequestOutcome = { status: 200, body: {} }

/** Returns the outcome of a refused message on Segment's routes. */
export const rejected = (status: number, message: unknown = expect.any(String)) => ({ status, body: { message } })

const ROUTES = { identify: 'identify-user', track: 'track-event' } as const

const bodyOf = ({ body }: CaseRequest): CaseBody => (typeof body === 'function' ? body() : body)

/** Returns JSON, with each `Infinity` and `bigint` as a number that a double cannot hold. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value, withNumberTexts).replaceAll(/"number (-?\w+)"/g, '$1')
}

function withNumberTexts(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `number ${value}`
  return value === Infinity || value === -Infinity ? `number ${value < 0 ? '-' : ''}1e999` : value
}

const post = (path: string, key: string, body: unknown) =>
  call({ path, headers: [...JSON_TYPE, 'x-api-key', key], body: jsonOf(body) })

const postToSegment = (path: string, key: string, body: unknown) =>
  call({
    path: `/v1/${path}`,
    headers: [...JSON_TYPE, 'authorization', `Basic ${Buffer.from(`${key}:`).toString('base64')}`],
    body: jsonOf(body),
  })

/** Returns a sender for each route to a project. Its keys are `<project>_ADMIN_P` and `<project>_SDK_P`. */
export function sendersOf(project: string) {
  const [adminKey, sdkKey] = [keyNamed(`${project}_ADMIN_P`), keyNamed(`${project}_SDK_P`)]
  return {
    single: (request: CaseRequest) => post(`/v2/admin/${ROUTES[request.type]}`, adminKey, bodyOf(request)),
    sdk: (request: CaseRequest) => post(`/v2/sdk/${ROUTES[request.type]}`, sdkKey, bodyOf(request)),

    batch: async (requests: readonly CaseRequest[]): Promise<readonly RequestOutcome[]> => {
      const items = requests.map((request) => ({ type: request.type, ...bodyOf(request) }))
      const { body } = await post('/v2/admin/batch', adminKey, { items })
      const results = body['results'] as readonly (CaseBody & { readonly status: number })[]
      return results.map(({ status, ...rest }) => ({ status, body: status < 400 ? rest : { status, ...rest } }))
    },

    /** Sends a request on its Segment route; undefined if Segment cannot express it. */
    segment: async (request: CaseRequest): Promise<RequestOutcome | undefined> => {
      const message = segmentMessageOf(request.type, bodyOf(request))
      return message && rejectionAt(await postToSegment(request.type, adminKey, { ...message, type: undefined }), 0)
    },

    /** Sends requests in a Segment batch; undefined for each request that Segment cannot express. */
    segmentBatch: async (requests: readonly CaseRequest[]): Promise<readonly (RequestOutcome | undefined)[]> => {
      const messages = requests.map((request) => segmentMessageOf(request.type, bodyOf(request)))
      const batch = messages.filter((message) => message !== undefined)
      const answer = await postToSegment('batch', adminKey, { batch })
      let position = 0
      return messages.map((message) => message && rejectionAt(answer, position++))
    },
  }
}

/** Returns the outcome of the message at this position in Segment's answer. */
function rejectionAt({ status, body }: ApiAnswer, position: number): RequestOutcome {
  if (status !== 200) return { status, body }
  const rejections = body['rejected'] as readonly { index: number; status: number; message: string }[]
  const rejection = rejections.find(({ index }) => index === position)
  return rejection ? rejected(rejection.status, rejection.message) : ACCEPTED
}
