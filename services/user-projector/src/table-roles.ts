import type { TableRoles } from '@nextvisit/projection/replay'

/** Where the rows come from. */
export const tableRoles: TableRoles = { users: 'fold', user_events: 'fold' }
