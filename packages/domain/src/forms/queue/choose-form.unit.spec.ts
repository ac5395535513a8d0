import { describe, expect, it } from 'vitest'
import { chooseForm } from './choose-form.ts'
import {
  answersTo,
  DAY,
  formIndex,
  HOUR,
  MINUTE,
  moment,
  NOW,
  type OpenFormInput,
  openForm,
  SECOND,
  type UserInput,
  userState,
} from '../../../test/form-fixtures.ts'

const waitingFor = (...forms: OpenFormInput[]): UserInput => ({
  open: new Map(forms.map((form) => [form.formId ?? 'nps', openForm(form)])),
})
const threeForms = formIndex([{ id: 'a' }, { id: 'b' }, { id: 'c' }])

const offeredFor = (ago: number) => waitingFor({ formId: 'a', state: 'offered', offeredAt: NOW - ago })

function choose(index: ReturnType<typeof formIndex>, user: UserInput): [string | undefined, boolean] {
  const { offer, moreWaiting } = chooseForm(index, userState(user), moment(NOW))
  return [offer?.formId, moreWaiting]
}

describe('a visit', () => {
  it('offers no form if none waits', () => {
    expect(choose(threeForms, {})).toEqual([undefined, false])
  })

  it('offers the highest priority, then the earliest queued, then the first form id, and reports that more wait', () => {
    const early = { queuedAt: NOW - DAY }
    expect(choose(threeForms, waitingFor({ formId: 'a', ...early }, { formId: 'b', priority: 1 }))).toEqual(['b', true])
    expect(choose(threeForms, waitingFor({ formId: 'a' }, { formId: 'b', ...early }))).toEqual(['b', true])
    expect(choose(threeForms, waitingFor({ formId: 'b' }, { formId: 'a' }))).toEqual(['a', true])
    expect(choose(threeForms, waitingFor({ formId: 'a' }))).toEqual(['a', false])
  })

  it('offers no form before its delay is over', () => {
    expect(choose(threeForms, waitingFor({ formId: 'a', showFrom: NOW + 1 }))).toEqual([undefined, false])
    expect(choose(threeForms, waitingFor({ formId: 'a', showFrom: NOW }))).toEqual(['a', false])
  })

  it('does not report a form whose delay is not over as waiting', () => {
    const delayed = { formId: 'b', priority: 1, showFrom: NOW + 1 }
    expect(choose(threeForms, waitingFor({ formId: 'a' }, delayed))).toEqual(['a', false])
    expect(choose(threeForms, waitingFor({ formId: 'a' }, { ...delayed, showFrom: NOW }))).toEqual(['b', true])
  })

  it('offers no form that has expired', () => {
    expect(choose(threeForms, waitingFor({ formId: 'a', expiresAt: NOW }))).toEqual([undefined, false])
    expect(choose(threeForms, waitingFor({ formId: 'a', expiresAt: NOW + 1 }))).toEqual(['a', false])
  })

  it('offers no form that is no longer live or was removed', () => {
    const index = formIndex([
      { id: 'a', enabled: false },
      { id: 'b', endsAt: new Date(NOW).toISOString() },
    ])
    expect(choose(index, waitingFor({ formId: 'a' }, { formId: 'b' }, { formId: 'gone' }))).toEqual([undefined, false])
  })

  it('checks the audience again', () => {
    const index = formIndex([{ id: 'a', audience: { trait: 'plan', is: 'pro' } }])
    expect(choose(index, waitingFor({ formId: 'a' }))[0]).toBeUndefined()
    expect(choose(index, { ...waitingFor({ formId: 'a' }), traits: new Map([['plan', 'pro']]) })[0]).toBe('a')
  })

  it('checks the cooldown again, for the forms that keep it', () => {
    const index = formIndex(
      [
        { id: 'a', priority: 9 },
        { id: 'b', cooldown: { ignore: true } },
      ],
      { formCooldown: '1h' },
    )
    const shown = new Map([['other', { times: 1, lastAt: NOW - HOUR + 1 }]])
    expect(choose(index, { ...waitingFor({ formId: 'a', priority: 9 }, { formId: 'b' }), shown })).toEqual(['b', true])
    expect(choose(index, { ...waitingFor({ formId: 'a' }), shown })).toEqual([undefined, true])
  })

  it('neither offers nor counts a form that was answered while it waited, if it is asked until answered', () => {
    const index = formIndex([{ id: 'a', frequency: { until: 'answered' } }, { id: 'b' }])
    const user = waitingFor({ formId: 'a' }, { formId: 'b' })
    expect(choose(index, user)).toEqual(['a', true])
    expect(choose(index, { ...user, answers: answersTo('a') })).toEqual(['b', false])
    expect(choose(index, { ...waitingFor({ formId: 'b' }), answers: answersTo('b') })).toEqual(['b', false])
  })

  it('does not offer a form that another visit was offered less than 30 seconds ago', () => {
    expect(choose(threeForms, offeredFor(30 * SECOND - 1))).toEqual([undefined, false])
    expect(choose(threeForms, offeredFor(30 * SECOND))).toEqual(['a', false])
  })

  it('counts an open offer as shown when it checks the cooldown', () => {
    const index = formIndex([{ id: 'a' }, { id: 'b' }], { formCooldown: '1h' })
    const user = waitingFor(
      { formId: 'a', state: 'offered', offeredAt: NOW - SECOND },
      { formId: 'b', queuedAt: NOW - MINUTE },
    )
    expect(choose(index, user)).toEqual([undefined, true])
  })
})
