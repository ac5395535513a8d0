import {
  INTERNAL_ROUTES,
  SegmentMembersAnswer,
  type SegmentMembersQuery,
  SegmentsAnswer,
  type SegmentsQuery,
} from '@nextvisit/contracts'
import { createInternalClient } from '@nextvisit/service-kit'
import type { ZodType } from 'zod'
import { answered, type ApiResult, refuse } from '../http/api-route.ts'

/** What the user projector says of segments. */
export interface Segments {
  readonly readSegments: (query: SegmentsQuery) => Promise<ApiResult<SegmentsAnswer>>
  readonly readMembers: (query: SegmentMembersQuery) => Promise<ApiResult<SegmentMembersAnswer>>
}

const ANSWER_WITHIN_MS = 3_000
const SILENT = refuse(503, 'no-answer', 'user-projector does not answer. The Overview says what to do.')

export function createSegments(parts: { readonly baseUrls: readonly string[]; readonly token: string }): Segments {
  const client = createInternalClient({ ...parts, timeoutMs: ANSWER_WITHIN_MS })

  async function ask<Answer>(route: string, query: object, schema: ZodType<Answer>): Promise<ApiResult<Answer>> {
    const asked = await client.call(route, query, schema)
    return asked.outcome === 'answered' ? answered(asked.answer) : SILENT
  }

  return {
    readSegments: (query) => ask(INTERNAL_ROUTES.readSegments, query, SegmentsAnswer),
    readMembers: (query) => ask(INTERNAL_ROUTES.readSegmentMembers, query, SegmentMembersAnswer),
  }
}
