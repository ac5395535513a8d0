import { defineTable } from '@nextvisit/database'
import { Attempt, Delivery, Endpoint, Position, Replay, Turn } from '../generated/tables.ts'

export const endpoints = defineTable(...Endpoint)
export const positions = defineTable(...Position)
export const replays = defineTable(...Replay)
export const deliveries = defineTable(...Delivery)
/** A delivery that joins a turn does not change when its next attempt is due. */
export const turns = defineTable(...Turn, { nextAt: 'keep' })
export const attempts = defineTable(...Attempt)
