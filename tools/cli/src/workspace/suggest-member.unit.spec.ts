import { describe, expect, it } from 'vitest'
import { parseWorkspaceFile } from './parse-workspace-file.ts'

/** Returns the faults of an organization with these members and one project. */
function faultsOf(organization: object, project: object = {}, top: object = {}): readonly string[] {
  const file = { ...top, organizations: [{ id: 'acme', projects: [{ id: 'shop', ...project }], ...organization }] }
  const parsed = parseWorkspaceFile(JSON.stringify(file), {})
  return parsed.outcome === 'ok' ? [] : parsed.faults.map(({ message }) => message)
}
const inProject = (project: object) => faultsOf({}, project)
const inForm = (form: object) => inProject({ forms: [{ id: 'nps', ...form }] })

const NOT_KNOWN = 'is not a known member'

describe('a suggestion for a member of the workspace file', () => {
  it.each<[string, readonly string[], string]>([
    [
      'belongs one level deeper',
      inForm({ frequency: { every: '30d' } }),
      `${NOT_KNOWN}: did you mean repeat: { every: 30d }?`,
    ],
    [
      'belongs two levels deeper',
      inForm({ every: '30d' }),
      `${NOT_KNOWN}: did you mean frequency: { repeat: { every: 30d } }?`,
    ],
    ['belongs into a list', inForm({ event: 'Paid' }), `${NOT_KNOWN}: did you mean triggers: [{ event: Paid }]?`],
    [
      'of a plan is in the organization',
      faultsOf({ eventsPerMonth: 5 }),
      `${NOT_KNOWN}: did you mean plan: { eventsPerMonth: 5 }?`,
    ],
    [
      'of a project is in the organization',
      faultsOf({ formCooldown: '7d' }),
      `${NOT_KNOWN}: did you mean projects: [{ formCooldown: 7d }]?`,
    ],
    [
      'of a project is at the top',
      faultsOf({}, {}, { forms: [] }),
      `${NOT_KNOWN}: did you mean organizations: [{ projects: [{ forms: [] }] }]?`,
    ],
    [
      'belongs one level up',
      inForm({ frequency: { delay: '2h' } }),
      `${NOT_KNOWN}: it belongs beside frequency, not into it`,
    ],
    ['belongs several levels up', inForm({ formCooldown: '7d' }), `${NOT_KNOWN}: it belongs beside forms, not into it`],
    ['is misspelt', inForm({ triggrs: [] }), `${NOT_KNOWN}: did you mean triggers?`],
    ['is written otherwise', inForm({ starts_at: '2026-01-01T00:00:00Z' }), `${NOT_KNOWN}: did you mean startsAt?`],
    ['is a part of the name', inProject({ cooldown: '7d' }), `${NOT_KNOWN}: did you mean formCooldown: 7d?`],
    ['is longer than the name', inForm({ displayName: 'Score' }), `${NOT_KNOWN}: did you mean name: Score?`],
    [
      'is misspelt in a condition',
      inForm({ audience: { any: [{ trait: 'plan', iss: 'pro' }] } }),
      `${NOT_KNOWN}: did you mean is?`,
    ],
    ['fits nowhere', inForm({ colour: 'red' }), NOT_KNOWN],
    ['has no value that fits', inForm({ frequency: { every: 'month' } }), NOT_KNOWN],
    ['is named as a member of every object', inForm({ constructor: 1 }), NOT_KNOWN],
  ])('that %s', (_, faults, message) => {
    expect(faults).toContain(message)
  })
})

describe('a suggestion for a value of another shape', () => {
  it.each<[string, readonly string[], RegExp]>([
    [
      'a value instead of its mapping',
      inForm({ frequency: 'always' }),
      /: did you mean frequency: { repeat: always }\?$/,
    ],
    [
      'a mapping instead of its list',
      inForm({ triggers: { event: 'Paid' } }),
      /: did you mean triggers: \[{ event: Paid }\]\?$/,
    ],
    ['a misspelt kind', inForm({ triggers: [{ evnet: 'Paid' }] }), /: did you mean event\?$/],
  ])('%s', (_, faults, message) => {
    expect(faults).toEqual([expect.stringMatching(message)])
  })

  it('is not made where nothing fits', () => {
    expect(inForm({ frequency: 7 })).toEqual(['must be a mapping of members'])
  })
})
