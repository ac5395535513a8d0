import { defineTable } from '@nextvisit/database'
import { Counter, MauMember, Reservation, UniqueName, Usage } from '../generated/tables.ts'

// Only a partition's owner writes the rows of `counters`, `usage` and `mau_members`: users belong to one partition. Everything
// adds, and nothing is read first.

/** An upsert makes the row, and counts. What follows it in the commit raises `fulfilled`. */
export const counters = defineTable(...Counter, { count: 'add', fulfilled: 'keep' })
/** By key only: the SQL functions `reserve_room` and `lease_room` write the rows. */
export const reservations = defineTable(...Reservation)
export const mauMembers = defineTable(...MauMember)
export const usage = defineTable(...Usage, { events: 'add', identifies: 'add', visits: 'add' })
export const uniqueNames = defineTable(...UniqueName, { firstMonth: 'least' })
