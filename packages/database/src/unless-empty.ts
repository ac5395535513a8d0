import type { Statement } from './sql.ts'

/** A commit's statement for these rows, or none where there are none. */
export function unlessEmpty<Row>(rows: readonly Row[], statement: (rows: readonly Row[]) => Statement): Statement[] {
  return rows.length > 0 ? [statement(rows)] : []
}
