import { Form, ProjectConfig } from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { at, MINUTE } from './evaluator-fixtures.ts'

/** Workspaces of the queue's stories: a form for each kind of trigger, with the gates set at will. */
const TRIGGERS: Readonly<Record<string, Form['triggers']>> = {
  'on-checkout': [{ event: 'checkout' }],
  'on-searching': [{ event: 'search', count: 2, within: '1h' }],
  'in-session': [{ event: 'checkout', count: 2, since: 'session' }],
  welcome: [{ visit: {} }],
  loyal: [{ firstSeen: { after: '20m' } }],
  either: [{ event: 'search', count: 3 }, { visit: {} }],
  'follow-up': [
    { answered: { form: 'welcome', where: { answer: 'score', atLeast: 9 } } },
    { answered: { form: 'either' } },
  ],
}
const FORM_IDS = Object.keys(TRIGGERS)

/** Mostly the first, so that most forms get through most gates. */
function mostly<Value>(usual: Value, ...others: Value[]): fc.Arbitrary<Value> {
  return fc.oneof({ weight: 5, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) })
}

const gates = fc.record({
  enabled: mostly(true, false),
  startsAt: mostly(undefined, at(10 * MINUTE)),
  endsAt: mostly(undefined, at(30 * 60 * MINUTE)),
  audience: fc.constantFrom<Form['audience'][]>(
    undefined,
    undefined,
    undefined,
    undefined,
    { trait: 'plan', is: 'pro' },
    { not: { trait: 'plan', is: 'pro' } },
    { any: [{ segment: 'searching' }, { trait: 'plan', is: 'pro' }] },
    { all: [{ event: 'checkout', exactly: 0, within: '10m' }] },
    { not: { answer: { form: 'welcome', element: 'score' }, exists: true } },
  ),
  sample: mostly(100, 50),
  frequency: fc.constantFrom<Form['frequency']>(
    { repeat: 'once' },
    { repeat: 'always' },
    { repeat: 'always' },
    { repeat: { times: 2 } },
    { repeat: { every: '10m' } },
    { repeat: { every: '0s' } },
    { until: 'answered' },
  ),
  cooldown: mostly({ ignore: false }, { ignore: true }),
  priority: fc.constantFrom(-1, 0, 0, 5),
  delay: mostly('0s', '30s', '2h'),
  expiresAfter: fc.constantFrom(undefined, undefined, '15s', '10m', '3h'),
})

function formOf(id: string): fc.Arbitrary<Form> {
  return gates.map((given) => Form.parse({ id, triggers: TRIGGERS[id], ...given }))
}

const cooldowns = fc.constantFrom('0s', '1m', '5m')

export const workspaces: fc.Arbitrary<ProjectConfig> = fc
  .tuple(cooldowns, fc.tuple(...FORM_IDS.map((id) => fc.option(formOf(id), { freq: 5 }))))
  .map(([formCooldown, forms]) =>
    ProjectConfig.parse({
      id: 'shop',
      formCooldown,
      segments: [{ id: 'searching', where: { event: 'search', atLeast: 1, within: '2h' } }],
      forms: forms.filter((form) => form !== null),
    }),
  )

/** Generates the next workspace: one form changed or removed, or another cooldown. */
export const changes: fc.Arbitrary<(before: ProjectConfig) => ProjectConfig> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .constantFrom(...FORM_IDS)
      .chain((id) => fc.tuple(fc.constant(id), fc.option(formOf(id), { freq: 2 })))
      .map(([id, form]) => (before: ProjectConfig) => ({
        ...before,
        forms: [...before.forms.filter((other) => other.id !== id), ...(form ? [form] : [])],
      })),
  },
  { weight: 1, arbitrary: cooldowns.map((formCooldown) => (before: ProjectConfig) => ({ ...before, formCooldown })) },
)
