import { defineTable } from '@nextvisit/database'
import { AnswerSecond, ElementDay, ErasedElementDay, Funnel, FunnelDay, Offer } from '../generated/tables.ts'

// Only a partition's owner writes its rows: those of the partition's users are replaced, and counters are added to.

export const offers = defineTable(...Offer)
export const funnels = defineTable(...Funnel, { count: 'add' })
export const funnelDays = defineTable(...FunnelDay, { count: 'add' })
export const answerSeconds = defineTable(...AnswerSecond, { count: 'add' })
export const elementDays = defineTable(...ElementDay, { count: 'add' })
export const erasedElementDays = defineTable(...ErasedElementDay, { count: 'add' })
