import { randomUUID } from 'node:crypto'
import { applyWorkspace } from '../workspace/apply-workspace.ts'
import { formTriggerEvaluatorCalls, type FormsReadModel, OrganizationConfig } from '@nextvisit/contracts'
import { userIdOf } from '@nextvisit/domain'
import { withLogAdmin, type LogConnection } from '@nextvisit/log'
import { createInternalServer, createLogger, createMetrics, NOT_FOUND, serveCalls } from '@nextvisit/service-kit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it, vi } from 'vitest'
import { parseProject } from '../options.ts'
import { why } from './why.ts'

const connection: LogConnection = { brokers: inject('kafkaBrokers').split(','), clientId: 'cli-spec' }
const topic = `test-catalog-${randomUUID().slice(0, 8)}`
const TOKEN = 'a-token-for-this-spec'
const AT = '2026-11-02T10:00:00.000Z'
const requestId = randomUUID()
const answer: FormsReadModel = {
  forms: ['ces', 'removed'].map((formId) => ({
    formId,
    decision: 'not-queued',
    reason: 'not-live',
    at: AT,
    requestId,
    catalogRevision: 1,
    gates: [{ gate: 'live', passed: false, compared: { enabled: false, startsAt: null, endsAt: null, now: AT } }],
  })),
  queue: [],
}

/** A server that answers like the evaluator, for one user. */
const evaluator = createInternalServer({
  host: '127.0.0.1',
  port: 0,
  token: TOKEN,
  routes: serveCalls(
    {
      readForms: formTriggerEvaluatorCalls.readForms,
      readTriggerCounts: formTriggerEvaluatorCalls.readTriggerCounts,
    },
    {
      readForms: async ({ organization, project, userId }) =>
        userId === userIdOf(organization, project, 'ada') ? answer : NOT_FOUND,
      readTriggerCounts: async ({ triggers }) => ({
        counts: triggers.map(() => 2),
        missed: triggers.map(() => ({ at: '2026-11-01T10:00:00.000Z', receivedAt: AT })),
      }),
    },
  ),
  isLive: () => ({ status: 'available' }),
  isReady: () => ({ status: 'available' }),
  metrics: createMetrics('evaluator'),
  logger: createLogger('evaluator', 'silent'),
})
let url: string
let printed: string[]

beforeAll(async () => {
  await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions: 1 }))
  const forms = [
    { id: 'nps', triggers: [{ event: 'Search', count: 3 }] },
    { id: 'ces', triggers: [] },
  ]
  const organizations = [
    OrganizationConfig.parse({ id: 'acme', projects: [{ id: 'shop', forms }, { id: 'twin' }] }),
    OrganizationConfig.parse({ id: 'other', projects: [{ id: 'twin' }] }),
  ]
  // In the format of a later version.
  const [shop] = organizations[0]?.projects ?? []
  Object.assign(shop ?? {}, { forms: [...(shop?.forms ?? []), { id: 'csat', triggers: [{ moonPhase: 'full' }] }] })
  await applyWorkspace({ connection, organizations, contents: [], appliedBy: 'spec', topic })
  url = `http://127.0.0.1:${(await evaluator.start()).port}`
})
afterAll(() => evaluator.stop())
beforeEach(() => {
  printed = []
  vi.spyOn(console, 'log').mockImplementation((line = '') => void printed.push(line))
  vi.stubEnv('KAFKA_BROKERS', inject('kafkaBrokers'))
  vi.stubEnv('FORM_TRIGGER_EVALUATOR_URLS', url)
  vi.stubEnv('INTERNAL_TOKEN', TOKEN)
})
afterEach(() => {
  vi.unstubAllEnvs()
  vi.restoreAllMocks()
})

const ask = (project: string, user: string, form?: string) =>
  why({ project: parseProject(project), user, ...(form && { form }) }, topic)

describe('nextvisit why', () => {
  it('shows the decision on one form, or on every one', async () => {
    await ask('shop', 'ada', 'ces')
    expect(printed[0]).toBe('ces: not queued')
    expect(printed).toHaveLength(5)
    await ask('acme/shop', 'ada')
    expect(printed.filter((line) => line.includes('Decided as not-live'))).toHaveLength(3)
  })

  it('tells that a form was removed from the workspace', async () => {
    await ask('shop', 'ada', 'removed')
    expect(printed[0]).toBe('removed (removed from the workspace): not queued')
  })

  it('prints the API answer and the explanations as JSON', async () => {
    await why({ project: { project: 'shop' }, user: 'ada', form: 'removed', json: true }, topic)
    expect(JSON.parse(printed.join('\n'))).toMatchObject({
      organization: 'acme',
      project: 'shop',
      userId: userIdOf('acme', 'shop', 'ada'),
      userName: 'ada',
      forms: [answer.forms[1]],
      queue: [],
      explanations: [{ formId: 'removed', presence: 'removed', state: 'not-queued' }],
    })
  })

  it('reports that a form was never evaluated, how far the user is, and that an event was too old', async () => {
    await ask('shop', 'ada', 'nps')
    expect(printed).toEqual([
      'nps: never evaluated',
      '  Never evaluated for this user: none of its triggers has matched yet.',
      '  Waits for: event Search 3 times (2 of 3)',
      `  The event Search of 2026-11-01T10:00:00.000Z was older than 15 minutes when it arrived at ${AT}. It counts, but it triggers no form.`,
    ])
  })

  it.each([
    [['shop', 'bob'], 1, 'acme/shop has no user bob.'],
    [['shop', ' '], 2, '--user: userName must be'],
    [['shop', 'ada', 'nsp'], 2, 'Project shop has no form nsp. Known: ces, csat, nps.'],
    [['shop', 'ada', 'csat'], 1, 'This version does not understand the form csat ('],
    [['shpo', 'ada'], 2, 'There is no project shpo. Known: acme/shop, acme/twin, other/twin.'],
    [['twin', 'ada'], 2, 'use --project acme/twin or other/twin.'],
  ] as const)('%j ends with %d and states the correction', async ([project, user, form], exitCode, message) => {
    await expect(ask(project, user, form)).rejects.toMatchObject({
      exitCode,
      message: expect.stringContaining(message),
    })
    expect(printed).toEqual([])
  })

  it('exits with 1 if the evaluator is unavailable, and with 2 if its address is not set', async () => {
    vi.stubEnv('FORM_TRIGGER_EVALUATOR_URLS', 'http://127.0.0.1:1')
    await expect(ask('shop', 'ada')).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringContaining('unavailable'),
    })
    vi.stubEnv('FORM_TRIGGER_EVALUATOR_URLS', '')
    await expect(ask('shop', 'ada')).rejects.toMatchObject({ code: 'BAD_CONFIG' })
  })
})
