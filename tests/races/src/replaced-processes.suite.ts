import { runNextvisit } from '@nextvisit/cli/test/run-nextvisit.ts'
import { freePort } from '@nextvisit/local-stack'
import {
  callCarefully,
  callGateway,
  eventually,
  type GatewayAnswer,
  isReady,
  readTopic,
  runPacedLoad,
} from '@nextvisit/testing/black-box'
import { describe, expect, it } from 'vitest'
import { keyOf } from './caller.ts'
import { ADMISSION_SERVICES, type RaceStack } from './race-stack.ts'
import { createServiceNames } from './service-names.ts'

const LIMITED = 'replaced-limited'
const ROOMY = 'replaced'
const LIMIT = 80
const USERS = 20
const PER_SECOND = 20
const READY_WITHIN_MS = 60_000
const CHECK_EVERY_MS = 100
/** The balancer sends nothing to a gateway whose last good check is older. Gateways stop later. */
const READY_FOR_MS = 1_000
const SHUTDOWN_DELAY_MS = 2_000
const LATE_AFTER_MS = 1_000

/** The organizations of the load: the event limit of one is reached while processes are replaced. */
export const REPLACED = [
  { id: LIMITED, plan: { eventsPerMonth: LIMIT, uniqueEvents: 1_000 } },
  { id: ROOMY, plan: { eventsPerMonth: 1_000_000, monthlyActiveUsers: 1_000_000, uniqueTraits: 10_000 } },
]

/** Processes that are restarted at the same time. Another process of each service that admission asks goes on. */
const ROUNDS = [
  ['metering', 'trait-registry', 'gateway-3'],
  ['user-projector', 'form-trigger-evaluator', 'user-eraser'],
  ['metering-2', 'trait-registry-2', 'gateway-4'],
  ['user-projector-2', 'answer-collector', 'webhook-dispatcher'],
] as const

interface SentCall extends GatewayAnswer {
  readonly organization: string
}

/** Replaces every process in the stack of the races, after the races. */
export function describeReplacedProcesses(stackOf: () => RaceStack): void {
  describe('two gateways that know services by name, under load (decision 0021)', () => {
    it('answer each request, check each limit and lose nothing while processes appear, vanish and restart', {
      timeout: 240_000,
    }, async () => {
      const stack = stackOf()
      const { gateways, names } = await startNamedGateways(stack)
      const balancer = createBalancer(gateways.map(({ url }) => url))
      const calls: SentCall[] = []
      const send = async (organization: string, route: string, body: object): Promise<void> => {
        const gatewayUrl = await balancer.next()
        const request = { gatewayUrl, route: `/v2/admin/${route}`, apiKey: keyOf(organization), body: { ...body } }
        calls.push({ organization, ...(await callGateway(request)) })
      }
      for (const { id } of REPLACED)
        for (let user = 0; user < USERS; user += 1)
          await callCarefully({
            gatewayUrl: await balancer.next(),
            route: '/v2/admin/identify-user',
            apiKey: keyOf(id),
            body: { userName: `user-${user}` },
          })

      const over = new AbortController()
      const load = runPacedLoad(PER_SECOND, over.signal, (sequence) => {
        const userName = `user-${sequence % USERS}`
        if (sequence % 2 === 0) return send(LIMITED, 'track-event', { userName, eventName: 'Raced' })
        if (sequence % 4 === 1)
          return send(ROOMY, 'identify-user', {
            userName: `new-${sequence}`,
            userAttributes: { $set: { [`trait_${sequence % 40}`]: sequence } },
          })
        return send(ROOMY, 'track-event', { userName, eventName: `Name ${sequence % 20}` })
      })
      const isLimitReached = () => Promise.resolve(calls.some(({ status }) => status === 402))

      const { host: third } = await names.appear('metering', '127.0.0.3')
      for (const processes of ROUNDS) {
        await Promise.all(processes.map((name) => restart(stack, name)))
        await eventually(() => balancer.isWhole(), Boolean, READY_WITHIN_MS)
      }
      await names.vanish('metering', third)
      await eventually(isLimitReached, Boolean, 60_000)
      over.abort()
      await load
      await balancer.stop()
      for (const { name } of gateways) await stack.stopReplica(name)

      expect(calls.filter(isWrong)).toEqual([])
      const records = (await readTopic(stack.brokers, 'user-events')).filter(({ value }) =>
        REPLACED.some(({ id }) => id === value['organization']),
      )
      const recorded = new Set(records.map(({ value }) => value['id']))
      const accepted = calls.filter(({ status = 0 }) => status < 300)
      expect(accepted.filter(({ requestId }) => !recorded.has(requestId))).toEqual([])
      // Only a busy machine answers late. Late requests may have taken room, or may lack a check.
      const late = calls.filter(isLate)
      const unchecked = records.filter(({ value }) => ((value['unchecked'] as string[] | undefined) ?? []).length > 0)
      console.log(`${calls.length} requests while every process was replaced, ${late.length} of them late`)
      expect(unchecked.length).toBeLessThanOrEqual(late.length)
      const passed = calls.filter(({ organization, status }) => organization === LIMITED && status === 202)
      expect(passed.length).toBeLessThanOrEqual(LIMIT + unchecked.length)
      expect(passed.length).toBeGreaterThanOrEqual(LIMIT - late.length)
      expect(await differencesOf(stack)).toBeUndefined()
    })
  })
}

/** Returns true for an answer that took long, or never came. */
function isLate({ elapsedMs }: SentCall): boolean {
  return elapsedMs > LATE_AFTER_MS
}

/** Returns true for a connection that was refused or cut, and for an answer that neither a limit nor a busy machine explains. */
function isWrong(call: SentCall): boolean {
  const { organization, status = 0 } = call
  if (status === 0 || status === 503) return !isLate(call)
  return ![200, 202].includes(status) && !(status === 402 && organization === LIMITED)
}

/** Starts two gateways that know each service by a name. */
async function startNamedGateways(stack: RaceStack) {
  const names = await createServiceNames(stack)
  const addresses = new Map<string, readonly string[]>()
  const set = async (service: string, hosts: readonly string[]): Promise<void> => {
    addresses.set(service, hosts)
    await names.set(service, hosts)
  }
  for (const service of ADMISSION_SERVICES) await set(service, ['127.0.0.1', '127.0.0.2'])
  const environment = {
    ...names.environment,
    GATEWAY_REQUEST_BUDGET_MS: '5000',
    GATEWAY_SHUTDOWN_DELAY_MS: String(SHUTDOWN_DELAY_MS),
  }
  const gateways = await Promise.all(
    [1, 2].map(async () => {
      const port = await freePort()
      const { name } = await stack.startReplica('gateway', { ...environment, GATEWAY_PORT: String(port) })
      return { name, url: `http://127.0.0.1:${port}` }
    }),
  )
  const replicas = new Map<string, string>()
  return {
    gateways,
    names: {
      /** Starts another process of a service, whose name then has its address, too. */
      appear: async (service: string, host: string) => {
        const port = new URL(stack.internalUrlOf(service)).port
        const { name } = await stack.startReplica(service, { INTERNAL_HOST: host, INTERNAL_PORT: port })
        replicas.set(host, name)
        await set(service, [...(addresses.get(service) ?? []), host])
        return { host }
      },
      /** Stops that process. Its address is gone before. */
      vanish: async (service: string, host: string) => {
        await set(
          service,
          (addresses.get(service) ?? []).filter((one) => one !== host),
        )
        await stack.stopReplica(replicas.get(host) ?? '')
      },
    },
  }
}

/** Ends a process as an upgrade does, and waits until its successor is ready. Throws if it is not. */
async function restart(stack: RaceStack, name: string): Promise<void> {
  const pidOf = async () => stack.processes().get(name)?.pid
  const before = await pidOf()
  stack.kill(name, 'SIGTERM')
  const isReplaced = (await eventually(pidOf, (pid) => pid !== before, READY_WITHIN_MS)) !== before
  const url = stack.urlOf(name)
  const isBack = url === undefined || (await eventually(() => isReady(url), Boolean, READY_WITHIN_MS))
  if (!isReplaced || !isBack) throw new Error(`${name} ${isReplaced ? 'is not ready' : 'was not replaced'} in time`)
}

/** Sends requests to ready gateways in turn, as a load balancer does. */
function createBalancer(urls: readonly string[]) {
  const over = new AbortController()
  const readyAt = new Map<string, number>()
  let turn = 0
  const checks = urls.map(async (url) => {
    while (!over.signal.aborted) {
      const askedAt = performance.now()
      if (await isReady(url)) readyAt.set(url, askedAt)
      else readyAt.delete(url)
      await new Promise((resolve) => setTimeout(resolve, CHECK_EVERY_MS))
    }
  })
  const ready = async (): Promise<readonly string[]> =>
    urls.filter((url) => performance.now() - (readyAt.get(url) ?? Number.NEGATIVE_INFINITY) < READY_FOR_MS)
  return {
    next: async (): Promise<string> => {
      const known = await eventually(ready, ({ length }) => length > 0, READY_WITHIN_MS, 20)
      return known[turn++ % known.length] ?? ''
    },
    isWhole: async () => (await ready()).length === urls.length,
    stop: async () => {
      over.abort()
      await Promise.all(checks)
    },
  }
}

/** Runs `nextvisit audit`. Returns its output if it finds a difference. */
async function differencesOf({ dataDirectory }: RaceStack): Promise<string | undefined> {
  const { exitCode, stdout, stderr } = await runNextvisit(['audit'], { NEXTVISIT_DATA: dataDirectory })
  return exitCode === 0 ? undefined : `${stdout}${stderr}`
}
