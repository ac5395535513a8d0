import type { Operation } from './operation.ts'
import { PAGE_REFUSALS, pageOf, pageParameters } from './pages.ts'
import { refusal } from './refusals.ts'

const USER_ID = 'c364d31e-5b0f-5a9e-8f5d-0c2f6a1b7e44'

export const listSegments: Operation = {
  tag: 'Project',
  summary: 'List segments',
  description:
    "The project's segments by id, a page at a time, and how many users are in each. A segment that is new or changed is computed for all users: until `usersComputed` is `usersTotal`, `members` may still count some by what it was before.",
  parameters: pageParameters('paying'),
  answers: [
    pageOf('SegmentsPage', 'A page of segments.', {
      when: 'One that is settled, and one that was just applied',
      value: {
        segments: [
          { id: 'churned', name: null, members: 12, usersComputed: 400, usersTotal: 1_000 },
          { id: 'paying', name: 'Paying customers', members: 250, usersComputed: 1_000, usersTotal: 1_000 },
        ],
        next: null,
      },
    }),
  ],
  refusals: PAGE_REFUSALS,
}

export const listSegmentUsers: Operation = {
  tag: 'Project',
  summary: "List a segment's users",
  description:
    'Who is in the segment and since when, by user id, a page at a time. It follows what was recorded within moments, and what time alone changes within a minute.',
  parameters: [
    {
      name: 'segmentId',
      in: 'path',
      required: true,
      description: 'As the workspace file has it.',
      schema: { type: 'string', pattern: '^[a-z0-9-]{1,63}$' },
      example: 'paying',
    },
    ...pageParameters(USER_ID, 'uuid'),
  ],
  answers: [
    pageOf('SegmentUsersPage', 'A page of users.', {
      when: 'There is more',
      value: {
        users: [{ userId: USER_ID, userName: 'ada@example.com', since: '2026-11-02T10:00:00.000Z' }],
        next: USER_ID,
      },
    }),
  ],
  refusals: [
    ...PAGE_REFUSALS,
    refusal(400, 'path', 'A path that can not be decoded', 'The path must be valid percent-encoding'),
    refusal(404, 'segment', 'A segment that the project does not have', 'Segment not found'),
  ],
}
