import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { consumers } from '@nextvisit/services'
import { eventually, keyNamed, readTopic, startThrowAwayStack, type ThrowAwayStack } from '@nextvisit/testing/black-box'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  HOOK_SECRET,
  readCheckpoints,
  releasedCheckpoints,
  releasedStory,
  type ReleasedStory,
  releasedVersions,
  restoreRelease,
} from './released-data.ts'
import { createStackCaller, createStackCommands } from './stack-commands.ts'
import { startWebhookReceiver, type WebhookReceiver } from './webhook-receiver.ts'

const WORKSPACE = path.resolve(import.meta.dirname, '../released-workspace.yaml')
const WITHIN_MS = 60_000

const NAMES = consumers.map(({ name }) => name)
const VARIABLES = new Map([
  ['ACME_ADMIN_P', keyNamed('ACME_ADMIN_P')],
  ['ACME_SDK_P', keyNamed('ACME_SDK_P')],
  ['ACME_HOOK', HOOK_SECRET],
])

// The data grows older, so nothing that these specs ask for expires, and the keys of its erased user are due at once.
describe.each(await releasedVersions())('a stack with the data of %s', (version) => {
  let stack: ThrowAwayStack
  let story: ReleasedStory
  let receiver: WebhookReceiver
  const { nextvisit, startNextvisit, settle } = createStackCommands(() => stack, VARIABLES)
  const { get, post } = createStackCaller(
    () => stack,
    () => stack.keys.admin,
  )
  const profileOf = (userName: string) => get(`/v2/admin/users/${encodeURIComponent(userName)}`)

  beforeAll(async () => {
    story = await releasedStory(version)
    receiver = await startWebhookReceiver(HOOK_SECRET)
    stack = await startThrowAwayStack({
      dataDirectory: await restoreRelease(version),
      isCheap: true,
      serviceEnvironment: { ERASURE_KEY_RETENTION: '10s' },
    })
  }, 180_000)
  afterAll(async () => {
    await stack?.remove()
    await receiver?.stop()
  }, 60_000)

  it('continues each consumer where that version stopped', async () => {
    await settle()
    const { stdout } = await nextvisit('status', '--json')
    const status = JSON.parse(stdout) as {
      readonly consumers: readonly { readonly service: string; readonly alarms: readonly unknown[] }[]
    }
    expect(status.consumers.map(({ service, alarms }) => ({ service, alarms }))).toEqual(
      NAMES.map((service) => ({ service, alarms: [] })),
    )
    // Each commit raises the version of a checkpoint. A consumer that had begun again would have a lower one.
    const released = await releasedCheckpoints(version)
    const continued = await readCheckpoints(stack.adminDatabaseUrl)
    expect(released.size).toBeGreaterThan(0)
    expect([...released].filter(([key, commits]) => (continued.get(key) ?? -1) < commits)).toEqual([])
  })

  it('knows its users, and gives them the same ids', async () => {
    const { userName, userId, traits } = story.known
    expect(await profileOf(userName)).toMatchObject({ status: 200, body: { userId, traits } })
    const plan = { userAttributes: { $set: { plan: 'upgraded' } } }
    expect(await post('/v2/admin/identify-user', { userName, ...plan })).toMatchObject({
      status: 200,
      body: { userId },
    })
    const upgraded = await eventually(
      () => profileOf(userName),
      ({ body }) => (body['traits'] as typeof traits)['plan'] === 'upgraded',
      WITHIN_MS,
    )
    expect(upgraded.body['traits']).toEqual({ ...traits, plan: 'upgraded' })
  })

  it('shows a form that was queued before at the next visit', async () => {
    const { userName, formId } = story.waiting
    const visit = await post('/v2/sdk/identify-user', { userName }, { key: keyNamed('ACME_SDK_P') })
    expect(visit).toMatchObject({ status: 200, body: { nextFeedbackId: formId } })
  })

  it('counts the answers from before', async () => {
    const { formId, finished } = story.answered
    const results = await get(`/v2/admin/forms/${formId}/results`)
    expect(results).toMatchObject({ status: 200, body: { funnel: { finished } } })
  })

  it('still has the dead letters', async () => {
    const { exitCode, stdout } = await nextvisit('dead-letters', 'list')
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringContaining('metering') as string })
  })

  it('sends what a disabled endpoint has missed, in order and with the ids of the records', async () => {
    const records = await readTopic(stack.brokers, 'form-events')
    const missed = records.filter(({ value }) => value['organization'] === 'acme')
    const idsByUser = Map.groupBy(missed, ({ value }) => value['userId'])
    expect(idsByUser.size).toBe(2)

    const file = path.join(stack.dataDirectory, 'acme.yaml')
    const workspace = await readFile(WORKSPACE, 'utf8')
    await writeFile(file, workspace.replace(/http:[^"]*/, receiver.url))
    expect(await nextvisit('apply', file)).toMatchObject({ exitCode: 0 })
    for (const [userId, of] of idsByUser) {
      const ids = of.map(({ value }) => value['id'])
      const accepted = await eventually(
        () => Promise.resolve(receiver.accepted(userId)),
        (got) => got.length >= ids.length,
        WITHIN_MS,
      )
      expect(accepted).toEqual(ids)
    }
    expect(receiver.unverified()).toEqual([])
  })

  it('keeps an erased user erased, and completes the erasure', async () => {
    const { erasureId, userName } = story.erasure
    expect((await profileOf(userName)).status).toBe(404)
    const erasure = await eventually(
      () => get(`/v2/admin/erasures/${erasureId}`),
      ({ body }) => body['status'] === 'complete',
      WITHIN_MS,
      1_000,
    )
    expect(erasure).toMatchObject({ status: 200, body: { erasureId, users: 1, status: 'complete' } })
  })

  it('has rows that the audit and each replay compute from its log again', async () => {
    await settle()
    expect(await startNextvisit('audit')).toMatchObject({ exitCode: 0 })
    for (const name of NAMES) {
      const replayed = await nextvisit('replay', name, '--dry-run')
      expect(replayed).toMatchObject({
        exitCode: 0,
        output: expect.stringContaining('Rebuilt and live rows are equal.'),
      })
    }
  }, 240_000)
})
