import { BODY_RULES, SEGMENT_COM_RULES } from '@nextvisit/domain'
import { expect, it } from 'vitest'
import { REASONS, REFUSALS, refuseBody } from './refusals.ts'

it('every reason is the reason of a refusal that can occur, so no two reasons have one message', () => {
  const rules = [REFUSALS, BODY_RULES, SEGMENT_COM_RULES].flatMap((catalogue) => Object.entries<unknown>(catalogue))
  const constant = rules.filter(([, rule]) => typeof rule === 'object') as [string, { readonly message: string }][]
  const reasons = Map.groupBy(constant, ([, { message }]) => message)
  const ambiguous = [...reasons.values()].filter((named) => new Set(named.map(([reason]) => reason)).size > 1)
  expect(ambiguous).toEqual([])
  expect(REASONS.has('disabled')).toBe(true)
})

it('a body is refused with 400, without a userName with 401, and with 413 as a message that is too large', () => {
  const rules = [BODY_RULES.userName, BODY_RULES.noUserName, SEGMENT_COM_RULES.messageBytes]
  const statuses = rules.map((rule) => refuseBody({ outcome: 'rejected', ...rule }).status)
  expect(statuses).toEqual([400, 401, 413])
})
