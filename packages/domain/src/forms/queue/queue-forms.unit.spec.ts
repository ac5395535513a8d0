import { describe, expect, it } from 'vitest'
import { DAY, eventContext, formIndex, NOW, openForm, SECOND, userState } from '../../../test/form-fixtures.ts'
import { queueForms } from './queue-forms.ts'

const user = { organization: 'acme', project: 'shop', userId: '00000000-0000-5000-8000-000000000001' }
const cause = {
  user,
  recordId: '019a4423-5b80-7cc1-8f5d-0c2f6a1b7e44',
  environment: 'P' as const,
  catalogRevision: 1,
}
const index = formIndex([{ id: 'nps' }, { id: 'csat', enabled: false }])

const run = (state = userState()) => {
  const { queue, facts, decisions } = queueForms(index, state, eventContext(), cause)
  return {
    queue,
    facts: facts.map(({ type, formId }) => `${type} ${formId}`),
    decisions: decisions.map(({ formId, outcome }) => `${formId} ${outcome}`),
  }
}

describe('the forms that a record sets off', () => {
  it('are queued if they pass every gate', () => {
    expect(run()).toMatchObject({
      facts: ['FormQueued nps'],
      decisions: ['nps queued', 'csat not-queued'],
    })
  })

  it('may take the slot of an expired row', () => {
    const expired = openForm({ formId: 'nps', queuedAt: NOW - DAY, expiresAt: NOW - SECOND })
    expect(run(userState({ open: new Map([['nps', expired]]) })).facts).toEqual(['FormExpired nps', 'FormQueued nps'])
  })

  it('are neither queued nor decided again when the record is processed twice', () => {
    const { queue } = run()
    const again = run({ ...userState(), queue })
    expect(again).toMatchObject({ facts: [], decisions: ['csat not-queued'] })
    expect(again.queue.rows.size).toBe(1)
  })
})
