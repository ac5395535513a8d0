import type { Trigger } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import {
  DAY,
  eventContext,
  formIndex,
  history,
  HOUR,
  MINUTE,
  NOW,
  type UserInput,
  userState,
  visitContext,
} from '../../test/form-fixtures.ts'
import { evaluateForms } from './evaluate-forms.ts'
import type { TriggerContext } from './triggers.ts'

const checkouts = (...times: number[]) => ({ events: new Map([['checkout', history(times)]]) })
const inSession = (count: number, startedAt: number) => ({
  events: new Map([
    [
      'checkout',
      history(
        Array.from({ length: count }, () => NOW),
        startedAt,
      ),
    ],
  ]),
  sessionStartedAt: NOW - MINUTE,
})
const longSession = {
  events: new Map([['checkout', history([NOW - 2 * HOUR, NOW], NOW - 3 * HOUR)]]),
  sessionStartedAt: NOW - 3 * HOUR,
}
const sdk = eventContext({ source: 'sdk' })
const weekly: Trigger = { event: 'checkout', count: 3, within: '7d' }
const sessional: Trigger = { event: 'checkout', count: 2, since: 'session' }
const threeDays: Trigger = { firstSeen: { after: '3d' } }

type Row = readonly [what: string, trigger: Trigger, user: UserInput, context: TriggerContext, matches: boolean]

/** forms.md, A form (triggers) and When a record is evaluated. `user` is the state after the record. */
const rows: readonly Row[] = [
  ['this event', { event: 'checkout' }, checkouts(NOW), eventContext(), true],
  ['this event by its name', { event: 'Checkout!' }, checkouts(NOW), eventContext(), true],
  ['another event', { event: 'checkout' }, checkouts(NOW), eventContext({ slug: 'search' }), false],
  ['a visit is not an event', { event: 'checkout' }, checkouts(NOW), visitContext(), false],
  ['count reached in the window', weekly, checkouts(NOW - 7 * DAY + 1, NOW - HOUR, NOW), eventContext(), true],
  ['a window is open at its start', weekly, checkouts(NOW - 7 * DAY, NOW - HOUR, NOW), eventContext(), false],
  [
    'a window is closed at its end: later occurrences are outside',
    { event: 'checkout', count: 2, within: '1h' },
    checkouts(NOW, NOW + 1),
    eventContext(),
    false,
  ],
  [
    'a count that was exceeded before still matches',
    weekly,
    checkouts(NOW - 3, NOW - 2, NOW - 1, NOW),
    eventContext(),
    true,
  ],
  [
    'the window of an event ahead of the clock ends at its own time',
    { event: 'checkout', count: 2, within: '1h' },
    checkouts(NOW - MINUTE, NOW + MINUTE),
    eventContext({ occurredAt: NOW + MINUTE }),
    true,
  ],
  [
    'the window of a late event ends when it was received',
    { event: 'checkout', count: 2, within: '10m' },
    checkouts(NOW - 12 * MINUTE, NOW - 11 * MINUTE),
    eventContext({ occurredAt: NOW - 11 * MINUTE }),
    false,
  ],
  [
    'no window: backdated ones count',
    { event: 'checkout', count: 2 },
    checkouts(NOW - 300 * DAY, NOW),
    eventContext(),
    true,
  ],
  ['no window: count not reached', { event: 'checkout', count: 2 }, checkouts(NOW), eventContext(), false],
  ['this session', sessional, inSession(2, NOW - MINUTE), sdk, true],
  ['this session, too few', sessional, inSession(1, NOW - MINUTE), sdk, false],
  ['an earlier session', sessional, inSession(2, NOW - HOUR), sdk, false],
  ['an admin event never fires since: session', sessional, inSession(2, NOW - MINUTE), eventContext(), false],
  ['this session and a window, each reached', { ...sessional, within: '1h' }, inSession(2, NOW - MINUTE), sdk, true],
  ['a window, but not this session', { ...sessional, within: '1h' }, inSession(1, NOW - MINUTE), sdk, false],
  ['this session, but not a window', { ...sessional, within: '1h' }, longSession, sdk, false],
  ['no session yet', sessional, { ...inSession(2, NOW), sessionStartedAt: undefined }, sdk, false],
  ['first seen, exactly that long ago', threeDays, { firstSeenAt: NOW - 3 * DAY }, eventContext(), true],
  ['first seen, by a visit', threeDays, { firstSeenAt: NOW - 3 * DAY }, visitContext({ startsSession: false }), true],
  ['first seen, a moment less ago', threeDays, { firstSeenAt: NOW - 3 * DAY + 1 }, eventContext(), false],
  ['never seen', threeDays, { firstSeenAt: undefined }, eventContext(), false],
  ['a visit that starts a session', { visit: {} }, {}, visitContext(), true],
  ['a visit within a session', { visit: {} }, {}, visitContext({ startsSession: false }), false],
  ['an event is not a visit', { visit: {} }, {}, sdk, false],
]

describe('the triggers of forms.md', () => {
  it.each(rows)('%s', (_what, trigger, user, context, matches) => {
    const decisions = evaluateForms(formIndex([{ triggers: [trigger] }]), userState(user), context)
    expect(decisions.length > 0).toBe(matches)
  })

  it('are alternatives: two that match queue the form once', () => {
    const index = formIndex([{ triggers: [{ event: 'checkout' }, threeDays] }])
    expect(evaluateForms(index, userState({ firstSeenAt: 0, ...checkouts(NOW) }), eventContext())).toHaveLength(1)
  })
})

describe('a form index', () => {
  it('tells if an event of a slug could queue a form', () => {
    const index = formIndex([{ id: 'on' }, { id: 'off', enabled: false, triggers: [{ event: 'search' }] }])
    expect(['checkout', 'search', 'other', '__proto__'].map(index.reactsTo)).toEqual([true, false, false, false])
  })

  it('reacts to every event if a form has a firstSeen trigger', () => {
    const index = formIndex([{ triggers: [threeDays] }])
    expect(index.reactsTo('anything')).toBe(true)
  })

  it('tells if a visit could show a form', () => {
    expect(formIndex([{}]).reactsToVisits()).toBe(true)
    expect(formIndex([{ enabled: false }]).reactsToVisits()).toBe(false)
    expect(formIndex([]).reactsToVisits()).toBe(false)
  })
})
