import { type IncomingMessage, request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CampaignStack } from './campaign-stack.ts'
import { type Fault, type FaultContext, nothingToHeal } from './fault.ts'
import type { Measured } from './fault-result.ts'
import type { Request } from './recording-client.ts'
import { watchOthers } from './watch-others.ts'

/** Faults by callers with valid keys of their own project. Each sends the load that harms other projects most. */

const LASTS_MS = 8_000
const SLOW_CONNECTIONS = 2_000
const HEADER_BYTES = 15_000
const MAX_OPERATIONS = 250
const MAX_BATCH_BYTES = 512_000
/** Number of connections that fills the memory for bodies without a known key. */
const KEYLESS_CONNECTIONS = 26
const AGAIN_AFTER_MS = 1_000

type Hostile = FaultContext['hostile']
/** Number of the hostile caller's answers by status; 0 stands for no answer. */
type AnswerCounts = Map<number, number>

/** Lets this many callers repeat `act`, and measures the effect on other organizations meanwhile. */
function flood(
  name: string,
  callers: number,
  act: (hostile: Hostile, stack: CampaignStack) => () => Promise<number | undefined>,
): Fault {
  return {
    name,
    family: 'hostile callers',
    inject: async (context) => {
      const othersSince = await watchOthers(context)
      const answers: AnswerCounts = new Map()
      const once = act(context.hostile, context.stack)
      const until = performance.now() + LASTS_MS
      const loop = async (): Promise<void> => {
        while (performance.now() < until) count(answers, (await once().catch(() => 0)) ?? 0)
      }
      await Promise.all(Array.from({ length: callers }, loop))
      const measured = await othersSince()
      return { lastsMs: 0, heal: nothingToHeal, witness: async () => answersText(answers), measured: () => measured }
    },
  }
}

function count(answers: AnswerCounts, status: number): void {
  answers.set(status, (answers.get(status) ?? 0) + 1)
}

function answersText(answers: AnswerCounts): string | undefined {
  const statuses = [...answers].toSorted(([one], [other]) => one - other)
  return statuses.length === 0
    ? undefined
    : `heard ${statuses.map(([status, times]) => `${times} × ${status === 0 ? 'nothing' : status}`).join(', ')}`
}

/** Opens very many requests and sends their bodies byte by byte. */
const slowBodies: Fault['inject'] = async (context) => {
  const { stack, hostile } = context
  const { hostname, port } = new URL(stack.gatewayUrl)
  const head = [
    'POST /v2/sdk/identify-user HTTP/1.1',
    `Host: ${hostname}`,
    `X-Api-Key: ${hostile.project.sdkKey}`,
    'Content-Type: application/json',
    'Content-Length: 90000',
  ].join('\r\n')
  const othersSince = await watchOthers(context)
  const answers: AnswerCounts = new Map()
  const sockets = Array.from({ length: SLOW_CONNECTIONS }, () => {
    const socket = connect(Number(port), hostname, () => socket.write(`${head}\r\n\r\n{`))
    socket.on('data', (answer) => count(answers, Number(answer.toString('latin1').slice(9, 12))))
    return socket.on('error', () => count(answers, 0))
  })
  const dripping = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write(' ')
  }, 500)
  let measured: Measured = {}
  return {
    lastsMs: LASTS_MS,
    heal: async () => {
      clearInterval(dripping)
      for (const socket of sockets) socket.destroy()
      measured = await othersSince()
    },
    witness: async () => answersText(answers),
    measured: () => measured,
  }
}

const HOSTILE_HEADERS: readonly Readonly<Record<string, string>>[] = [
  { 'content-type': `application/json${' '.repeat(HEADER_BYTES)}x` },
  { 'content-type': `application/json;${'a=b;'.repeat(HEADER_BYTES / 4)}` },
  { traceparent: '0'.repeat(HEADER_BYTES) },
  { 'idempotency-key': '"'.repeat(HEADER_BYTES) },
  { 'x-forwarded-for': '1,'.repeat(HEADER_BYTES / 2) },
  { 'content-encoding': 'gzip,'.repeat(HEADER_BYTES / 5) },
]

/** Sends headers that are long and nearly valid. */
function sendHeaders({ project }: Hostile, { gatewayUrl }: CampaignStack) {
  let sent = 0
  return async (): Promise<number> => {
    sent += 1
    const own = HOSTILE_HEADERS[sent % HOSTILE_HEADERS.length]
    const headers = { 'content-type': 'application/json', 'x-api-key': project.adminKey, ...own }
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      httpRequest(`${gatewayUrl}/v2/admin/identify-user`, { method: 'POST', headers }, resolve)
        .on('error', reject)
        .end('{}')
    })
    answer.resume()
    return answer.statusCode ?? 0
  }
}

const sending = (make: (sent: number) => Request) => (hostile: Hostile) => {
  let sent = 0
  return async () => (await hostile.client.send(hostile.project, make((sent += 1)))).status
}

const operations = (prefix: string, value: unknown) =>
  Object.fromEntries(Array.from({ length: MAX_OPERATIONS }, (_, index) => [`${prefix}-${index}`, value]))

/** Sends new traits with every request: each registers 250 names. */
const newTraits = sending((sent) => ({
  route: '/v2/admin/identify-user',
  body: { userName: `user ${sent % 50}`, userAttributes: { $set: operations(`new-${sent}`, 1) } },
}))

/** Identifies one user with the largest number of traits at the largest size. */
const fatUser = sending((sent) => ({
  route: '/v2/admin/identify-user',
  body: { userName: 'fat', userAttributes: { $set: operations(`fat-${sent % 8}`, 'x'.repeat(300)) } },
}))

/** Identifies users with list traits that fill the largest body. */
const listTraits = sending((sent) => ({
  route: '/v2/admin/identify-user',
  body: {
    userName: `lists ${sent % 50}`,
    userAttributes: {
      $set: operations(
        `list-${sent % 8}`,
        Array.from({ length: 100 }, () => 77),
      ),
    },
  },
}))

/** Tracks a new event of one user with every request. */
const newEvents = sending((sent) => ({
  route: '/v2/admin/track-event',
  body: { userName: 'fat', eventName: `event ${sent}` },
}))

/** Posts to a route that the audit does not know. These requests may leave no records. */
const posting = (path: string, make: (sent: number) => unknown) => (hostile: Hostile, stack: CampaignStack) => {
  let sent = 0
  return async (): Promise<number> => {
    sent += 1
    return post(stack, path, make(sent), { 'x-api-key': hostile.project.adminKey })
  }
}

async function post({ gatewayUrl }: CampaignStack, path: string, body: unknown, headers: Record<string, string> = {}) {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  }
  const answer = await fetch(`${gatewayUrl}${path}`, init)
  await answer.arrayBuffer()
  return answer.status
}

const members = (length: number, value: unknown) =>
  Object.fromEntries(Array.from({ length }, (_, index) => [index.toString(36), value]))

/** Posts items that are refused one by one. Each has another unknown time zone. */
const refusedItems = posting('/v2/admin/batch', (sent) => ({
  items: Array.from({ length: 1_000 }, (_, index) => ({
    type: 'identify',
    userName: 'fat',
    $deviceInfo: { $timezone: `Europe/${sent}-${index}` },
  })),
}))

/** A message with the longest joined names. It is refused, because it holds too many traits. */
const refusedMessage = {
  type: 'identify',
  userId: 'fat',
  traits: { ...members(MAX_OPERATIONS + 1, 1), ['k'.repeat(8_000)]: members(2_000, {}) },
}
const refusedMessages = posting('/v1/batch', () => ({ batch: Array.from({ length: 15 }, () => refusedMessage) }))

/** A message of an anonymous user that fills the largest body. The gateway reads it in full and records nothing. */
const largeMessage = {
  type: 'track',
  anonymousId: 'a',
  event: 'e',
  properties: members(900, { name: 'x', list: [1, 2, 3] }),
}
const largeMessages = posting('/v1/batch', () => ({ batch: Array.from({ length: 15 }, () => largeMessage) }))

/** Repeatedly sends large bodies without a key and without their end, together with a caller whose body contains the key. */
const keylessBodies: Fault['inject'] = async (context) => {
  const { stack, hostile } = context
  const { hostname, port } = new URL(stack.gatewayUrl)
  const head = `POST /v1/batch HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: ${MAX_BATCH_BYTES}\r\n\r\n`
  const othersSince = await watchOthers(context)
  const answers: AnswerCounts = new Map()
  const until = performance.now() + LASTS_MS
  const stall = () =>
    new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.write(head + 'x'.repeat(MAX_BATCH_BYTES - 1)))
      socket.on('data', () => socket.destroy())
      socket.on('error', () => undefined).on('close', () => resolve())
    })
  const strangers = Array.from({ length: KEYLESS_CONNECTIONS }, async () => {
    while (performance.now() < until) {
      await stall()
      await sleep(AGAIN_AFTER_MS)
    }
  })
  // An anonymous user's message leaves no record.
  const message = { anonymousId: 'a', writeKey: hostile.project.adminKey }
  while (performance.now() < until) count(answers, await post(stack, '/v1/track', message).catch(() => 0))
  await Promise.all(strangers)
  const measured = await othersSince()
  const isServed = answers.has(200) && !answers.has(503)
  return {
    lastsMs: 0,
    heal: nothingToHeal,
    witness: async () => (isServed ? answersText(answers) : undefined),
    measured: () => measured,
  }
}

/** Sends the most expensive reads. */
function readFat({ project }: Hostile, { gatewayUrl }: CampaignStack) {
  const paths = ['users/fat', 'users/fat/forms', 'usage', 'traits?limit=1000', 'events?limit=1000', 'segments']
  let sent = 0
  return async (): Promise<number> => {
    sent += 1
    const url = `${gatewayUrl}/v2/admin/${paths[sent % paths.length]}`
    const answer = await fetch(url, { headers: { 'x-api-key': project.adminKey } })
    await answer.arrayBuffer()
    return answer.status
  }
}

export const hostileCallers: readonly Fault[] = [
  { name: 'slow bodies', family: 'hostile callers', inject: slowBodies },
  { name: 'bodies without a key', family: 'hostile callers', inject: keylessBodies },
  flood('hostile headers', 20, sendHeaders),
  flood('new traits', 20, newTraits),
  flood('a fat user', 20, fatUser),
  flood('lists as traits', 20, listTraits),
  flood('new events of one user', 20, newEvents),
  flood('batches of refused items', 5, refusedItems),
  flood('refused messages of Segment’s API', 5, refusedMessages),
  flood('large messages of Segment’s API', 5, largeMessages),
  flood('reads of a fat user', 40, readFat),
]
