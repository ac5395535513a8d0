import type { TableRoles } from '@nextvisit/projection/replay'

/** Where the rows come from: claims, the locks they are judged under, and how far ticks have looked are not in the log. */
export const tableRoles: TableRoles = {
  definitions: 'fold',
  projects: 'carried',
  claims: 'carried',
  tick_marks: 'carried',
}
