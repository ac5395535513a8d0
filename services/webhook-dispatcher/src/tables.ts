import type { EndpointRef } from '@nextvisit/catalog'
import { defineTable, type Sql, sql } from '@nextvisit/database'
import { Attempt, Delivery, Endpoint, Position, Replay, Turn } from '../generated/tables.ts'

export const endpoints = defineTable(...Endpoint)
export const positions = defineTable(...Position)
export const replays = defineTable(...Replay)
export const deliveries = defineTable(...Delivery)
/** A delivery that joins a turn does not change when its next attempt is due. */
export const turns = defineTable(...Turn, { nextAt: 'keep' })
export const attempts = defineTable(...Attempt)

/** The key of turns, in the order in which all transactions lock them. */
export const TURN_KEY = sql`organization, project, user_id, endpoint_id, replay_id`

/** Returns the condition that a row is of an endpoint, for a query of one table. */
export function isOfEndpoint({ organization, project, endpointId }: EndpointRef): Sql {
  return sql`(organization, project, endpoint_id) = (${organization}, ${project}, ${endpointId})`
}
