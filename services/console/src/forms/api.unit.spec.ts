import { userIdFixture } from '@nextvisit/contracts/fixtures'
import { expect, it } from 'vitest'
import { formsApi } from './api.ts'

const id = userIdFixture('ada')

it.each([
  ['2026-11-20T12:00:00.000Z', id, true],
  ['0000-01-01T00:00:00.000Z', id, false],
  ['2026-11-20T12:00:00.000Z', id.toUpperCase(), false],
  ['2026-11-20T12:00:00.000Z', 'edited', false],
])('the position %s_%s in answers is valid, as for the collector: %s', (startedAt, offerId, isValid) => {
  const query = { organization: 'acme', project: 'shop', formId: 'nps', after: `${startedAt}_${offerId}` }
  expect(formsApi.readFormAnswers.input.safeParse(query).success).toBe(isValid)
})
