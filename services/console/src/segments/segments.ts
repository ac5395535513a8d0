import {
  INTERNAL_ROUTES,
  SegmentMembersAnswer,
  type SegmentMembersQuery,
  SegmentsAnswer,
  type SegmentsQuery,
} from '@nextvisit/contracts'
import { createInternalClient } from '@nextvisit/service-kit'
import { askService } from '../ask-service.ts'
import type { ApiResult } from '../http/api-route.ts'

/** What the user projector says of segments. */
export interface Segments {
  readonly readSegments: (query: SegmentsQuery) => Promise<ApiResult<SegmentsAnswer>>
  readonly readMembers: (query: SegmentMembersQuery) => Promise<ApiResult<SegmentMembersAnswer>>
}

const ANSWER_WITHIN_MS = 3_000
const SERVICE = 'user-projector'

export function createSegments(parts: { readonly baseUrls: readonly string[]; readonly token: string }): Segments {
  const client = createInternalClient({ ...parts, timeoutMs: ANSWER_WITHIN_MS })
  return {
    readSegments: (query) => askService(client, SERVICE, INTERNAL_ROUTES.readSegments, query, SegmentsAnswer),
    readMembers: (query) =>
      askService(client, SERVICE, INTERNAL_ROUTES.readSegmentMembers, query, SegmentMembersAnswer),
  }
}
