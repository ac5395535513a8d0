import type { AuditReport } from '@nextvisit/audit'
import { runNextvisit } from '@nextvisit/cli/test/run-nextvisit.ts'
import { userIdOf } from '@nextvisit/domain'
import { readWatermarks } from '@nextvisit/log'
import { publishCompressed, spaces } from '@nextvisit/log/test/publish-compressed.ts'
import { beforeAll, describe, expect, it } from 'vitest'
import type { RecordingClient } from './recording-client.ts'
import { auditStack, type CampaignStack, CONSUMER_NAMES, FOLDING_CONSUMERS } from './campaign-stack.ts'
import { queryRows } from './query-rows.ts'
import type { CampaignContext } from './run-seed.ts'
import { createRandom } from './seeded-random.ts'
import { ONE_USER, TAMPERED_ROUNDS } from './tampered-rows.ts'
import { createTraffic } from './traffic.ts'
import { eventually, withProducer } from '@nextvisit/testing/black-box'

/** Number of requests: about four seconds of traffic. */
const REQUESTS = 400

let stack: CampaignStack
let client: RecordingClient

/** Sends traffic in which every kind of record, form and row occurs. */
async function sendTraffic(): Promise<void> {
  const traffic = createTraffic({
    client,
    projects: stack.projects,
    random: createRandom(7, 'traffic'),
    perSecond: 100,
  })
  await readPages()
  // A number of requests, not a duration, because a busy machine sends fewer requests in the same time.
  const wanted = client.calls().length + REQUESTS
  traffic.start()
  await eventually(
    async () => client.calls().length,
    (sent) => sent >= wanted,
    60_000,
  )
  await traffic.stop()
}

/** Sends visits and page views of paying users. They trigger the forms that count events in a window or a session. */
async function readPages(): Promise<void> {
  for (const project of stack.projects) {
    for (const userName of ['user-0', 'user-2', 'user-4']) {
      await client.send(project, { route: '/v2/sdk/identify-user', body: { userName } })
      const body = { userName, eventName: 'Page viewed' }
      for (const _time of [1, 2]) await client.send(project, { route: '/v2/sdk/track-event', body })
    }
  }
}

/** Identifies and erases a user, with whose Kafka key another program wrote a record in clear. */
async function eraseOne(): Promise<void> {
  const [project] = stack.projects
  if (!project) throw new Error('The campaign has no project')
  const { organization, adminKey } = project
  const userName = 'a user that is erased'
  await client.send(project, { route: '/v2/admin/identify-user', body: { userName } })
  const key = userIdOf(organization, project.project, userName)
  const messages = [{ key, value: '{"type":"IdentifyRequested"}', headers: { 'schema-version': '2' } }]
  await withProducer(stack, (producer) => producer.send({ topic: 'user-events', messages }))
  const headers = { 'content-type': 'application/json', 'x-api-key': adminKey, 'idempotency-key': crypto.randomUUID() }
  const sent = { method: 'POST', headers, body: JSON.stringify({ userNames: [userName] }) }
  const request = async () => (await fetch(`${stack.gatewayUrl}/v2/admin/erasures`, sent)).status
  expect(await eventually(request, (status) => status === 202, 30_000)).toBe(202)
  const fences = () => queryRows(stack, 'metering', 'SELECT FROM erased_users')
  expect(await eventually(fences, ({ length }) => length > 0, 60_000)).toHaveLength(1)
}

const connectionOf = ({ brokers }: CampaignStack) => ({ brokers, clientId: 'spec' })
const recount = (ledger = client.calls()) => auditStack(stack, ledger)
/** Audits once every consumer has read the log: time alone may change memberships at any moment. */
const recountAtRest = (ledger = client.calls()) =>
  eventually(
    () => recount(ledger),
    ({ findings }) => findings.every(({ kind }) => kind !== 'checkpoints: behind'),
    30_000,
    1_000,
  )
const kindsOf = ({ findings }: AuditReport) => findings.map(({ kind }) => kind).toSorted()

/** Audits until there is no finding. Lag is a finding, too. */
const atRest = () => eventually(recount, ({ findings }) => findings.length === 0, 60_000, 1_000)

const nextvisit = (...args: readonly string[]) => runNextvisit(args, { NEXTVISIT_DATA: stack.dataDirectory })

/** Tests that the audit finds tampered rows. Each test restores the rows it changes, because later specs use the stack. */
export function describeAudit(campaignOf: () => CampaignContext): void {
  describe('the audit of a stack after traffic', { timeout: 120_000 }, () => {
    beforeAll(async () => {
      ;({ stack, client } = campaignOf())
      await sendTraffic()
      await eraseOne()
    }, 120_000)

    it('finds no difference in an unchanged stack', async () => {
      const report = await atRest()
      expect(report.findings).toEqual([])
      expect(report.records).toBeGreaterThan(100)
      expect(report.lag).toEqual([...FOLDING_CONSUMERS, 'user-eraser'].map((service) => ({ service, records: 0 })))
    })

    it('recomputes which forms had to be queued', async () => {
      const { queueing } = await atRest()
      const forms = await queryRows<{ id: string }>(
        stack,
        'form-trigger-evaluator',
        'SELECT DISTINCT form_id AS id FROM queue ORDER BY form_id',
      )
      const all = [
        'always',
        'back-again',
        'large-order',
        'large-orders',
        'once',
        'reader',
        'short-lived',
        'this-session',
      ]
      expect(forms.map(({ id }) => id)).toEqual(all)
      expect(queueing.decided).toBeGreaterThan(100)
      expect(queueing.undecided).toBeLessThan(queueing.decided / 10)
    })

    it('has the same findings in several passes', async () => {
      // The eraser reads its own records after an erasure has ended.
      const { exitCode, stdout } = await eventually(
        () => nextvisit('audit', '--at-rest', '--json', '--users-a-pass', '10'),
        (ended) => !ended.stdout.includes('checkpoints: behind'),
        30_000,
        1_000,
      )
      expect(JSON.parse(stdout)).toMatchObject({ passes: 8, findings: [] })
      expect(exitCode).toBe(0)
    })

    it.each(TAMPERED_ROUNDS)('finds a changed row of each of these tables: $tables', async ({ changes }) => {
      // Otherwise a tick may act on changed memberships, and the restored counts are wrong.
      stack.kill('user-projector', 'SIGSTOP')
      try {
        for (const [service, , tamper] of changes) await queryRows(stack, service, tamper)
        expect(kindsOf(await recount())).toEqual(expect.arrayContaining(changes.flatMap(([, kinds]) => kinds)))
      } finally {
        for (const [service, , , restore] of changes) await queryRows(stack, service, restore)
        stack.kill('user-projector', 'SIGCONT')
      }
    })

    it('finds no difference after all rows are restored', async () => {
      expect((await recountAtRest()).findings).toEqual([])
    })

    it('finds an acknowledged request without a record, a refused one with a record, and a record without a request', async () => {
      const [first, ...others] = client.calls()
      if (!first) throw new Error('There was no traffic')
      const lost = { ...first, requestId: crypto.randomUUID() }
      expect(kindsOf(await recountAtRest([...client.calls(), lost]))).toEqual(['ledger: lost'])
      expect(kindsOf(await recountAtRest([{ ...first, status: 402 }, ...others]))).toEqual(['ledger: refused'])
      expect(kindsOf(await recountAtRest(others))).toEqual(['ledger: no request'])
    })

    it('prints findings by id, without names or values', async () => {
      const [user] = await queryRows<{ id: string; traits: string }>(
        stack,
        'user-projector',
        `SELECT user_id AS id, traits::text AS traits FROM users WHERE user_id = ${ONE_USER}`,
      )
      const setTraits = (value: string) =>
        queryRows(stack, 'user-projector', `UPDATE users SET traits = ${value} WHERE user_id = '${user?.id}'`)
      await setTraits("(traits::jsonb - 'plan')::json")
      try {
        const { exitCode, stdout, stderr } = await nextvisit('audit')
        expect(exitCode).toBe(1)
        expect(stdout).toContain('users.users: traits  1\n')
        expect(stdout).toContain('plan is missing')
        expect(stdout + stderr).not.toContain('user-')
      } finally {
        await setTraits(`$$${user?.traits}$$::json`)
      }
    })

    it('expects one dead letter of a batch that cannot be decoded, in every consumer', async () => {
      const partition = 3
      const before = await readWatermarks(connectionOf(stack), 'user-events')
      const offset = String(before.get(partition)?.high)
      const tooLarge = { records: 2, value: spaces(10 * 1024 * 1024) }
      await publishCompressed(connectionOf(stack), { topic: 'user-events', partition }, tooLarge)
      const halted = () =>
        Promise.all(
          CONSUMER_NAMES.map((service) =>
            queryRows<{ code: string }>(stack, service, `SELECT code FROM partition_alarms WHERE kind = 'halted'`),
          ),
        )
      const alarms = await eventually(halted, (rows) => rows.every(({ length }) => length > 0), 60_000)
      expect(alarms.flat()).toEqual(CONSUMER_NAMES.map(() => ({ code: 'BATCH_UNDECODABLE' })))
      expect(kindsOf(await recount())).toEqual(['checkpoints: behind'])
      for (const service of CONSUMER_NAMES) {
        const letter = [service, 'user-events', String(partition), offset]
        expect(await nextvisit('dead-letters', 'set-aside', ...letter)).toMatchObject({ exitCode: 0 })
      }
      await atRest()
      const move = (by: number) =>
        queryRows(
          stack,
          'metering',
          `UPDATE dead_letters SET "offset" = "offset" + ${by} WHERE partition = ${partition} AND "offset" >= ${offset}`,
        )
      // As if the first of the two records had been folded before the batch was damaged.
      await move(1)
      await atRest()
      await move(1)
      expect(kindsOf(await recountAtRest())).toEqual(['dead letters: missing', 'dead letters: not in the log'])
      await move(-2)
      await atRest()
    })
  })
}
