import { z } from 'zod'
import { staleFields } from '../primitives.ts'
import { UserQuery } from './call-fields.ts'
import { type CallTable, defineCall } from './define-call.ts'

/** Position of a row: its table, and those parts of its key, as text, that differ between rows of one user. */
const RowPlace = z.object({ table: z.string().min(1).max(63), key: z.array(z.string()).max(16) })
export type RowPlace = z.infer<typeof RowPlace>

const UserRowsQuery = UserQuery.extend({
  limit: z.number().int().min(1).max(200),
  /** The place of the last row of the previous page. */
  after: RowPlace.optional(),
})
export type UserRowsQuery = z.infer<typeof UserRowsQuery>

/** A row as it is stored, by column. */
const UserRow = z.object({ table: z.string(), row: z.record(z.string(), z.json()) })
export type UserRow = z.infer<typeof UserRow>
/** Ordered by table and key. A page also ends at some megabytes. `after: next` asks for the following page. */
const UserRowsAnswer = z.object({ rows: z.array(UserRow), next: RowPlace.nullable(), ...staleFields })
export type UserRowsAnswer = z.infer<typeof UserRowsAnswer>

/** Served by every consumer. */
export const personalDataCalls = {
  /** Reads all rows of one user, of every table of the consumer that has the columns organization, project and user_id. */
  readUserRows: defineCall({
    path: '/internal/personal-data/rows/read',
    question: UserRowsQuery,
    answer: UserRowsAnswer,
  }),
} satisfies CallTable
