/**
 * `pnpm benchmark:latency`: measures the latency of a tracked event at low load, end to end through Kafka, with and
 * without a form that reacts to it. With a form, the answer also waits for the evaluator. Both kinds are sent in turn,
 * under the same conditions.
 */
import { Agent, request } from 'node:http'
import path from 'node:path'
import { runPacedLoad, startThrowAwayStack } from '@nextvisit/testing/black-box'
import { percentile } from './percentile.ts'

const PER_SECOND = 20
const WARM_SECONDS = 5
const SECONDS = 30
const USERS = 200

const EVENTS = { 'no form reacts': 'Page Viewed', 'a form reacts': 'Checkout Completed' } as const
type Kind = keyof typeof EVENTS
const KINDS = Object.keys(EVENTS) as Kind[]

const stack = await startThrowAwayStack({
  workspaceFile: path.resolve(import.meta.dirname, '../benchmark-workspace.yaml'),
})
const agent = new Agent({ keepAlive: true })
let late = 0
const userName = (index: number) => `user-${index % USERS}`

try {
  for (let index = 0; index < USERS; index++) await post('/v2/admin/identify-user', { userName: userName(index) })
  await measure(WARM_SECONDS)
  const measured = await measure(SECONDS)
  console.log(`\nTracked events at ${PER_SECOND} per second, for ${SECONDS} s:\n`)
  console.log('| event | requests | p50 ms | p90 ms | p99 ms |\n|---|---|---|---|---|')
  for (const [kind, took] of measured) {
    const columns = [50, 90, 99].map((percent) => percentile(took, percent).toFixed(1))
    console.log(`| ${kind} | ${took.length} | ${columns.join(' | ')} |`)
  }
  const [plain = 0, replied = 0] = KINDS.map((kind) => percentile(measured.get(kind) ?? [], 50))
  console.log(
    `\nWaiting for the evaluator's reply adds ${(replied - plain).toFixed(1)} ms to the median; ${late} replies were late.`,
  )
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  agent.destroy()
  await stack.remove()
  process.exit()
}

/** Measures the latency of each request in ms, by kind. */
async function measure(seconds: number): Promise<ReadonlyMap<Kind, readonly number[]>> {
  const took = new Map<Kind, number[]>(KINDS.map((kind) => [kind, []]))
  await runPacedLoad(PER_SECOND, AbortSignal.timeout(seconds * 1_000), async (sequence) => {
    const kind = KINDS[sequence % KINDS.length] ?? 'a form reacts'
    const beganAt = performance.now()
    const answer = await post('/v2/admin/track-event', { userName: userName(sequence), eventName: EVENTS[kind] })
    took.get(kind)?.push(performance.now() - beganAt)
    if (!answer.includes('"triggersEvaluated":true')) late += 1
  })
  return took
}

function post(route: string, body: object): Promise<string> {
  const headers = { 'x-api-key': stack.keys.admin, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const sent = request(`${stack.gatewayUrl}${route}`, { method: 'POST', agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => (text += part))
      response.on('end', () => (response.statusCode === 429 ? reject(new Error(text)) : resolve(text)))
    })
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}
