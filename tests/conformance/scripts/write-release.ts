/** `pnpm release-data <version>`: writes the data of a stack of this version, which every later version must continue. */
import { spawn } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { consumers } from '@nextvisit/services'
import {
  callCarefully,
  eventually,
  keyNamed,
  startThrowAwayStack,
  type ThrowAwayStack,
  withProducer,
} from '@nextvisit/testing/black-box'
import { HOOK_SECRET, type ReleasedStory, writeRelease } from '../src/released-data.ts'

const CLI = path.resolve(import.meta.dirname, '../../../tools/cli/src/main.ts')
const WORKSPACE = path.resolve(import.meta.dirname, '../released-workspace.yaml')
const USERS = 24
const WITHIN_MS = 60_000

const [version = ''] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+$/.test(version)) {
  console.error('Usage: npx -y pnpm release-data <version>, for example 1.0.0')
  process.exit(2)
}

const stack = await startThrowAwayStack({ isCheap: true })
try {
  const story = await tellStory(stack)
  await settle()
  for (const name of stack.processes().keys()) {
    if (name !== 'kafka' && name !== 'postgres') await stack.stopReplica(name)
  }
  await writeRelease(version, stack, story)
  console.log(`Wrote the data of ${version}.`)
} finally {
  await stack.remove()
}

async function tellStory({ keys, brokers, dataDirectory }: ThrowAwayStack): Promise<ReleasedStory> {
  const users = Array.from({ length: USERS }, (_, index) => `user-${index}@example.com`)
  const finished: string[] = []
  for (const [index, userName] of users.entries()) {
    const traits = traitsOf(index)
    const device = { $deviceOs: 'iOS', $deviceId: `device-${index}` }
    await send(keys.admin, 'admin/identify-user', { userName, userAttributes: { $set: traits }, $deviceInfo: device })
    await send(keys.admin, 'admin/track-event', {
      userName,
      eventName: 'Page Viewed',
      properties: { path: `/${index}` },
    })
    await send(keys.admin, 'admin/track-event', {
      userName,
      eventName: 'Checkout Completed',
      properties: { total: 10.5 },
    })
  }
  // Users with an even number are asked, and half of them visit.
  for (const [index, userName] of users.filter((_, at) => at % 4 === 0).entries()) {
    const { nextFeedback } = await send(keys.sdk, 'sdk/identify-user', { userName })
    const { offerId, formId, revision } = nextFeedback as Readonly<Record<string, unknown>>
    const status = index % 3 === 2 ? 'partial' : 'finished'
    if (status === 'finished') finished.push(userName)
    const answers = { score: finished.length, reason: 'Too slow' }
    await send(keys.sdk, 'sdk/answers', { userName, offerId, formId, revision, answers, status })
  }
  const [erasedUser = '', knownUser = ''] = [users[1], users[3]]
  const { erasureId } = await send(keys.admin, 'admin/erasures', { userNames: [erasedUser] })
  await settle()
  await withProducer({ brokers }, (producer) =>
    producer.send({ topic: 'user-events', messages: [{ key: 'foreign', value: 'no JSON' }] }),
  )
  await tellStoryOfHooks(dataDirectory)
  const { userId } = await send(keys.admin, 'admin/identify-user', { userName: knownUser })
  return {
    known: { userName: knownUser, userId: String(userId), traits: traitsOf(3) },
    waiting: { userName: 'grace', formId: 'csat' },
    answered: { formId: 'nps-after-checkout', finished: finished.length },
    erasure: { erasureId: String(erasureId), userName: erasedUser },
  }
}

function traitsOf(index: number): ReleasedStory['known']['traits'] {
  return { plan: index % 2 === 0 ? 'pro' : 'free', seats: index, tags: ['a', `b${index}`] }
}

/** The endpoint is unreachable, then disabled: later versions send what happens here. */
async function tellStoryOfHooks(dataDirectory: string): Promise<void> {
  const workspace = await readFile(WORKSPACE, 'utf8')
  await apply(dataDirectory, workspace)
  await buy('ada')
  await buy('grace')
  await apply(dataDirectory, workspace.replace('$ACME_HOOK }', '$ACME_HOOK, enabled: false }'))
  await buy('ada')
}

async function buy(userName: string): Promise<void> {
  const key = keyNamed('ACME_ADMIN_P')
  await send(key, 'admin/identify-user', { userName })
  await send(key, 'admin/track-event', { userName, eventName: 'Bought' })
}

async function apply(dataDirectory: string, workspace: string): Promise<void> {
  const file = path.join(dataDirectory, 'acme.yaml')
  await writeFile(file, workspace)
  await nextvisit('apply', file)
}

async function send(apiKey: string, route: string, body: object): Promise<Readonly<Record<string, unknown>>> {
  const { gatewayUrl } = stack
  const answer = await callCarefully({
    gatewayUrl,
    route: `/v2/${route}`,
    apiKey,
    body: body as Record<string, unknown>,
  })
  if (answer.status === undefined || answer.status >= 300) {
    throw new Error(`${route} was answered ${answer.status}: ${JSON.stringify(answer.answer)}`)
  }
  return answer.answer
}

/** Waits until every consumer has folded everything. */
async function settle(): Promise<void> {
  if (!(await eventually(isSettled, Boolean, WITHIN_MS, 1_000))) throw new Error('The consumers lag.')
}

async function isSettled(): Promise<boolean> {
  const status = JSON.parse(await nextvisit('status', '--json')) as {
    readonly consumers: readonly { readonly lagRecords: number }[]
  }
  return status.consumers.length === consumers.length && status.consumers.every(({ lagRecords }) => lagRecords === 0)
}

async function nextvisit(...args: readonly string[]): Promise<string> {
  const keys = { ACME_ADMIN_P: keyNamed('ACME_ADMIN_P'), ACME_SDK_P: keyNamed('ACME_SDK_P') }
  const env = { NEXTVISIT_DATA: stack.dataDirectory, ACME_HOOK: HOOK_SECRET, ...keys }
  const child = spawn(process.execPath, [CLI, ...args], { env })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [output, errors, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  if (exitCode !== 0) throw new Error(`nextvisit ${args.join(' ')} ended with ${exitCode}: ${errors}`)
  return output
}
