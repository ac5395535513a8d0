import { expect, it } from 'vitest'
import { sampleOf } from '../../test/given-samples.ts'
import type { LimitLine } from '../registry/api.ts'
import { limitFindings } from './limit-findings.ts'

const mau: LimitLine = {
  title: 'Monthly active users',
  name: 'monthlyActiveUsers',
  of: 'project',
  isMonthly: true,
  used: 12,
  added: 12,
  limit: 12,
  setBy: 'plan',
  outlook: 'reached',
  words: 'Reached.',
  reachedAt: null,
}
const ofShop = { organization: 'demo', project: 'shop', line: mau, readAtMs: 60_000 }
const refused = [sampleOf({ 'refusal:mau': 20, 'refusal:tooFast': 1 }), sampleOf({ 'refusal:mau': 7 })]

it('a finding names a reached limit, the time of its count and its number of refusals, and links to both', () => {
  expect(limitFindings({ samples: refused, isWholeHour: false, reached: [ofShop] })).toEqual([
    {
      severity: 'warning',
      text: 'demo/shop: monthly active users, 12 of 12, 27 refused since the console started. Reached.',
      asOf: '1970-01-01T00:01:00.000Z',
      runbook: null,
      links: [
        { screen: 'registry', project: 'demo/shop' },
        { screen: 'refusals', project: 'demo/shop' },
      ],
    },
  ])
})

it('findings attribute no refusals while two projects have reached the limit', () => {
  const reached = [ofShop, { ...ofShop, project: 'app' }]
  expect(limitFindings({ samples: refused, isWholeHour: true, reached }).map(({ text }) => text)).toEqual([
    'demo/shop: monthly active users, 12 of 12. Reached.',
    'demo/app: monthly active users, 12 of 12. Reached.',
  ])
})

it('a finding names the limit of an organization once', () => {
  const line: LimitLine = { ...mau, name: 'eventsPerMonth', title: 'Events a month', of: 'organization' }
  const reached = ['shop', 'app'].map((project) => ({ ...ofShop, project, line }))
  expect(limitFindings({ samples: [], isWholeHour: true, reached })).toMatchObject([
    { text: 'demo: events a month, 12 of 12. Reached.', links: [{}, { screen: 'refusals', project: null }] },
  ])
})

it('a finding reports only refusals if no limit is known to be reached', () => {
  const textsOf = (samples: typeof refused) =>
    limitFindings({ samples, isWholeHour: true, reached: [] }).map(({ text }) => text)
  expect(textsOf(refused)).toEqual([
    '27 requests were refused because of a limit (monthly active users) in the last hour.',
  ])
  expect(textsOf([sampleOf({ 'refusal:eventLimit': 1 })])).toEqual([
    '1 request was refused because of a limit (events a month) in the last hour.',
  ])
})

it('no finding is reported if no request was refused because of a limit', () => {
  expect(limitFindings({ samples: [sampleOf({ 'refusal:tooFast': 1 })], isWholeHour: true, reached: [] })).toEqual([])
})
