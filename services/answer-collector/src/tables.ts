import { defineTable } from '@nextvisit/database'
import {
  AnswerTime,
  AnswerTimeDay,
  ElementCount,
  ElementDay,
  ErasedElement,
  ErasedElementDay,
  Funnel,
  FunnelDay,
  Offer,
} from '../generated/tables.ts'

// Only a partition's owner writes its rows: those of the partition's users are replaced, and counters are added to.

export const offers = defineTable(...Offer)
export const funnels = defineTable(...Funnel, { count: 'add' })
export const funnelDays = defineTable(...FunnelDay, { count: 'add' })
export const answerTimes = defineTable(...AnswerTime, { count: 'add' })
export const answerTimeDays = defineTable(...AnswerTimeDay, { count: 'add' })
export const elements = defineTable(...ElementCount, { count: 'add' })
export const elementDays = defineTable(...ElementDay, { count: 'add' })
export const erasedElements = defineTable(...ErasedElement, { count: 'add' })
export const erasedElementDays = defineTable(...ErasedElementDay, { count: 'add' })
