import { defineTable } from '@nextvisit/database'
import { Counter, MauMember, Reservation, UniqueName, Usage } from '../generated/tables.ts'

// Only a partition's owner writes the rows of `counters`, `usage` and `mau_members`. Upserts add, and no row is read first.

/** An upsert creates the row and adds to `count`. A later statement of the commit raises `fulfilled`. */
export const counters = defineTable(...Counter, { count: 'add', fulfilled: 'keep' })
/** Used by key only: the SQL functions `reserve_room` and `lease_room` write the rows. */
export const reservations = defineTable(...Reservation)
export const mauMembers = defineTable(...MauMember)
export const usage = defineTable(...Usage, { events: 'add', identifies: 'add', visits: 'add' })
export const uniqueNames = defineTable(...UniqueName, { firstMonth: 'least' })
