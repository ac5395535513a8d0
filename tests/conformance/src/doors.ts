import { expect } from 'vitest'
import { keyNamed } from '@nextvisit/testing/black-box'
import { type Answer, call, JSON_TYPE } from './call.ts'
import { segmentMessageOf } from './segment-message.ts'

/** A number that JSON can write and nothing can hold stands as `Infinity`. */
export type CaseBody = Readonly<Record<string, unknown>>

/** A request in the words of its single admin route. */
export interface CaseRequest {
  readonly type: 'identify' | 'track'
  /** A function where the body contains the time. */
  readonly body: CaseBody | (() => CaseBody)
}

/** The answer to one request: its own, or its part in the answer to a batch. */
export type Outcome = Pick<Answer, 'status' | 'body'>

/** What Segment's routes say of a message that was not refused: nothing. */
export const ACCEPTED: Outcome = { status: 200, body: {} }

/** What they say of one that was refused. */
export const rejected = (status: number, message: unknown = expect.any(String)) => ({ status, body: { message } })

const ROUTES = { identify: 'identify-user', track: 'track-event' } as const

const bodyOf = ({ body }: CaseRequest): CaseBody => (typeof body === 'function' ? body() : body)

function jsonOf(value: unknown): string {
  return JSON.stringify(value, withoutInfinity).replaceAll(/"(-?1e999)"/g, '$1')
}

const withoutInfinity = (_name: string, value: unknown) =>
  value === Infinity ? '1e999' : value === -Infinity ? '-1e999' : value

const post = (path: string, key: string, body: unknown) =>
  call({ path, headers: [...JSON_TYPE, 'x-api-key', key], body: jsonOf(body) })

const postToSegment = (path: string, key: string, body: unknown) =>
  call({
    path: `/v1/${path}`,
    headers: [...JSON_TYPE, 'authorization', `Basic ${Buffer.from(`${key}:`).toString('base64')}`],
    body: jsonOf(body),
  })

/** The ways in which a request reaches a project. Its keys are `<project>_ADMIN_P` and `<project>_SDK_P`. */
export function doorsOf(project: string) {
  const [adminKey, sdkKey] = [keyNamed(`${project}_ADMIN_P`), keyNamed(`${project}_SDK_P`)]
  return {
    single: (request: CaseRequest) => post(`/v2/admin/${ROUTES[request.type]}`, adminKey, bodyOf(request)),
    sdk: (request: CaseRequest) => post(`/v2/sdk/${ROUTES[request.type]}`, sdkKey, bodyOf(request)),

    batch: async (requests: readonly CaseRequest[]): Promise<readonly Outcome[]> => {
      const items = requests.map((request) => ({ type: request.type, ...bodyOf(request) }))
      const { body } = await post('/v2/admin/batch', adminKey, { items })
      const results = body['results'] as readonly (CaseBody & { readonly status: number })[]
      return results.map(({ status, ...rest }) => ({ status, body: status < 400 ? rest : { status, ...rest } }))
    },

    /** Undefined if Segment has no words for the request. */
    segment: async (request: CaseRequest): Promise<Outcome | undefined> => {
      const message = segmentMessageOf(request.type, bodyOf(request))
      return message && rejectionAt(await postToSegment(request.type, adminKey, { ...message, type: undefined }), 0)
    },

    /** Undefined for each request that Segment has no words for. */
    segmentBatch: async (requests: readonly CaseRequest[]): Promise<readonly (Outcome | undefined)[]> => {
      const messages = requests.map((request) => segmentMessageOf(request.type, bodyOf(request)))
      const batch = messages.filter((message) => message !== undefined)
      const answer = await postToSegment('batch', adminKey, { batch })
      let position = 0
      return messages.map((message) => message && rejectionAt(answer, position++))
    },
  }
}

/** What Segment's answer says about the message at this position. */
function rejectionAt({ status, body }: Answer, position: number): Outcome {
  if (status !== 200) return { status, body }
  const rejections = body['rejected'] as readonly { index: number; status: number; message: string }[]
  const rejection = rejections.find(({ index }) => index === position)
  return rejection ? rejected(rejection.status, rejection.message) : ACCEPTED
}
