import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { userIdOf } from '@nextvisit/domain'
import { freePort } from '@nextvisit/local-stack'
import { createFaultProxy, type FaultProxy } from '@nextvisit/testing'
import { eventually, readMessages } from '@nextvisit/testing/black-box'
import type { CampaignProject } from './campaign-projects.ts'
import type { CampaignStack } from './campaign-stack.ts'
import {
  beginErasure,
  createUser,
  endOf,
  eraseUsers,
  type Erasing,
  eventOf,
  newNames,
  reaches,
  requestErasure,
} from './erasing.ts'
import { type Fault, nothingToHeal } from './fault.ts'
import { type GroupMember, membersOf } from './group-members.ts'
import { USER_EVENTS } from './kafka-of.ts'
import { ends } from './process-faults.ts'

/** Erasures beside other work on the same user: another erasure, a replay, records in flight, another eraser. */

const ERASER = 'user-eraser'
const ERASURES = 'erasures'
const CLI = path.resolve(import.meta.dirname, '../../../tools/cli/src/main.ts')
const STEP_WITHIN_MS = 60_000
/** Longer than an admission. */
const HELD_FIRST_MS = 200
const ERASE_EVERY_MS = 1_500
const TAKEN_OVER_WITHIN_MS = 40_000

/** Erases users a second time, at once and after some of them have returned, while the eraser is killed. */
const twoErasures: Fault['inject'] = async (context) => {
  const { stack, random } = context
  const project = random.oneOf(stack.projects)
  const userNames = newNames(random)
  const first = await beginErasure(context, project, userNames)
  const again = async (): Promise<Erasing> => ({ ...first, erasureId: await requestErasure(stack, project, userNames) })
  const second = await again()
  const killed = await ends('user-eraser', 'SIGKILL')(context)
  for (const userName of userNames) await createUser(context, project, userName)
  const third = await again()
  const end = endOf(stack, [first, second, third])
  return {
    ...killed,
    witness: async () => {
      const [proof, struck] = [await end.proof(), await killed.witness()]
      const ids = new Set([first, second, third].map(({ erasureId }) => erasureId))
      return struck && ids.size === 3 ? `erased twice, and again after they returned; ${struck}; ${proof}` : undefined
    },
    wrong: end.wrong,
  }
}

/** Begins one erasure after the other while a consumer is replayed, so that some begin before, at and after the swap. */
const duringReplay: Fault['inject'] = async (context) => {
  const { stack, random } = context
  const consumer = random.oneOf(['user-projector', 'form-trigger-evaluator'])
  const begun = [await beginErasure(context)]
  const replaying = replay(stack, consumer)
  const ended = replaying.then(() => 'ended' as const)
  do begun.push(await beginErasure(context))
  while ((await Promise.race([sleep(ERASE_EVERY_MS), ended])) !== 'ended')
  const output = await replaying
  const end = endOf(stack, begun)
  const isEqual = output.includes('Rebuilt and live rows are equal. Swapped')
  return {
    lastsMs: 0,
    heal: nothingToHeal,
    witness: async () =>
      isEqual ? `${begun.length - 1} erasures during the replay of ${consumer}; ${await end.proof()}` : undefined,
    wrong: async () => [
      ...(isEqual ? [] : [{ kind: 'replay: differs', count: 1, examples: [{ about: consumer, says: output }] }]),
      ...(await end.wrong()),
    ],
  }
}

async function replay({ dataDirectory }: CampaignStack, consumer: string): Promise<string> {
  const child = spawn(process.execPath, [CLI, 'replay', consumer], { env: { NEXTVISIT_DATA: dataDirectory } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()))
  await once(child, 'close')
  return output
}

/**
 * Holds the requests of a second gateway to Kafka. It knows the users and their keys, admits events of them, and hears of their
 * erasure only after the events have been published behind it. They create no user.
 */
const inFlight: Fault['inject'] = async (context) => {
  const { stack, random } = context
  // Its calls may be refused, because the second gateway cannot publish in time.
  const { client } = context.hostile
  const project = random.oneOf(stack.projects)
  const userNames = newNames(random)
  // Kafka names the proxy of the stack as its address.
  const proxy = createFaultProxy(stack.proxy.addressFor(), { rewritesMetadata: true })
  await proxy.start()
  const second = await startGateway(stack, proxy)
  const stop = async () => {
    await stack.stopReplica(second.name)
    await proxy.stop()
  }
  try {
    for (const userName of userNames) await createUser({ client }, project, userName, second.url)
    proxy.setLink('held')
    const sent = userNames.map((userName) => client.send(project, eventOf(userName), second.url))
    await sleep(HELD_FIRST_MS)
    const erasing = await eraseUsers(context, project, userNames)
    await reaches(stack, erasing, 'user-events', STEP_WITHIN_MS)
    proxy.setLink('open')
    await Promise.all(sent)
    const end = endOf(stack, [erasing])
    return {
      lastsMs: 0,
      heal: stop,
      witness: async () => {
        const proof = await end.proof()
        const behind = await countBehindFences(stack, project, userNames)
        return behind > 0 ? `${behind} events came behind the erasure of their user; ${proof}` : undefined
      },
      wrong: end.wrong,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startGateway(stack: CampaignStack, proxy: FaultProxy) {
  const port = await freePort()
  const { host, port: proxyPort } = proxy.addressFor()
  const own = { GATEWAY_PORT: String(port), KAFKA_BROKERS: `${host}:${proxyPort}` }
  const { name } = await stack.startReplica('gateway', own)
  return { name, url: `http://127.0.0.1:${port}` }
}

/** Counts events with an offset beyond that of the erasure of their user. */
async function countBehindFences(
  { brokers }: CampaignStack,
  { organization, project }: CampaignProject,
  userNames: readonly string[],
): Promise<number> {
  const userIds = new Set(userNames.map((userName) => userIdOf(organization, project, userName)))
  const messages = (await readMessages(brokers, USER_EVENTS)).filter(({ key }) => userIds.has(String(key)))
  const offsetsOf = (type: string, userId: string) =>
    messages
      .filter(({ key, value }) => String(key) === userId && value?.includes(`"type":"${type}"`))
      .map(({ offset }) => Number(offset))
  return [...userIds].reduce((count, userId) => {
    const [fence = Infinity] = offsetsOf('UserErased', userId)
    return count + offsetsOf('EventTracked', userId).filter((offset) => offset > fence).length
  }, 0)
}

const BATCHED = ['user-projector', 'form-trigger-evaluator'] as const

/**
 * Stops two consumers while records of users, their erasure, and records of one who returns are published, so that one batch
 * has all of them. The eraser is stopped, too, until the first records are there.
 */
const oneBatch: Fault['inject'] = async (context) => {
  const { stack, random } = context
  const project = random.oneOf(stack.projects)
  const userNames = newNames(random, 3)
  const returned = userNames.slice(0, 1)
  for (const userName of userNames) await createUser(context, project, userName)
  const send = (signal: 'SIGSTOP' | 'SIGCONT', ...names: readonly string[]) =>
    names.forEach((name) => stack.kill(name, signal))
  send('SIGSTOP', ERASER)
  let erasing: Erasing
  let isPublished: boolean
  try {
    // The projector must count the users before it is stopped.
    erasing = await eraseUsers(context, project, userNames)
    send('SIGSTOP', ...BATCHED)
    for (const userName of userNames) await createUser(context, project, userName)
    send('SIGCONT', ERASER)
    isPublished = await reaches(stack, erasing, 'user-events', STEP_WITHIN_MS)
    for (const userName of returned) await createUser(context, project, userName)
  } finally {
    send('SIGCONT', ERASER, ...BATCHED)
  }
  const end = endOf(stack, [{ ...erasing, returned }])
  return {
    lastsMs: 0,
    heal: nothingToHeal,
    witness: async () =>
      isPublished ? `${BATCHED.join(' and ')} were stopped until a user had returned; ${await end.proof()}` : undefined,
    wrong: end.wrong,
  }
}

function ownerOf(members: readonly GroupMember[]): string | undefined {
  return members.find(({ partitions }) => partitions.length > 0)?.memberId
}

/** Stops the process that owns the erasures until another has taken over, and continues it. */
const zombieEraser: Fault['inject'] = async (context) => {
  const { stack } = context
  const until = (isThere: (members: readonly GroupMember[]) => boolean) =>
    eventually(() => membersOf(stack, ERASER, ERASURES), isThere, TAKEN_OVER_WITHIN_MS)
  const [alone] = await until(({ length }) => length === 1)
  const { name: replica } = await stack.startReplica(ERASER)
  const before = ownerOf(await until(({ length }) => length === 2))
  const owner = before === alone?.memberId ? ERASER : replica
  const erasing = await beginErasure(context)
  stack.kill(owner, 'SIGSTOP')
  const from = performance.now()
  const after = ownerOf(await until((members) => ![undefined, before].includes(ownerOf(members))))
  const tookOver = after !== undefined && after !== before
  const seconds = ((performance.now() - from) / 1_000).toFixed(1)
  const end = endOf(stack, [erasing])
  return {
    lastsMs: 2_000, // the other process does the work
    heal: async () => {
      stack.kill(owner, 'SIGCONT')
      await sleep(2_000) // the zombie tries to continue and notices the takeover
      await stack.stopReplica(replica)
    },
    witness: async () =>
      tookOver ? `another process took the erasures over in ${seconds} s; ${await end.proof()}` : undefined,
    wrong: end.wrong,
  }
}

export const erasureRaces: readonly Fault[] = [
  { name: 'two erasures of one user', family: 'erasure', inject: twoErasures },
  { name: 'erasures during a replay and its swap', family: 'erasure', inject: duringReplay },
  { name: 'events in flight through a second gateway', family: 'erasure', mayRefuse: true, inject: inFlight },
  { name: 'an erasure in one batch with its user', family: 'erasure', mayRefuse: true, inject: oneBatch },
  { name: 'a zombie of user-eraser during an erasure', family: 'erasure', inject: zombieEraser },
]
