import { createFaultProxy, type FaultProxy } from '@nextvisit/testing'
import { Redis } from 'ioredis'
import { freePort } from '@nextvisit/local-stack'
import { consumers } from '@nextvisit/services'
import { eventually, isReady, startThrowAwayStack, type ThrowAwayStack } from '@nextvisit/testing/black-box'

/** The services that admission calls. */
export const ADMISSION_SERVICES = ['metering', 'trait-registry', 'user-projector'] as const

/**
 * A stack with two gateways and two processes of each admission service. The second gateway reaches Kafka through a
 * fault proxy.
 */
export interface RaceStack extends ThrowAwayStack {
  readonly gatewayUrls: readonly [string, string]
  /** Returns the internal URL of a consumer's process; undefined for another process. */
  readonly urlOf: (process: string) => string | undefined
  /** URLs of the gateways' metrics. */
  readonly gatewayMetrics: readonly string[]
  readonly proxy: FaultProxy
  readonly redis: Redis
  /** Signals both processes of every admission service. */
  readonly signalAdmissionServices: (signal: NodeJS.Signals) => void
  /** Kills both processes of every admission service, and waits until none accepts connections. */
  readonly killAdmissionServices: () => Promise<void>
  /** Waits until every process is ready. */
  readonly untilReady: () => Promise<void>
}

export async function startRaceStack(workspace: string): Promise<RaceStack> {
  const stack = await startThrowAwayStack({ workspace, isCheap: true })
  const [host = '', port] = (stack.brokers[0] ?? '').split(':')
  const proxy = createFaultProxy({ host, port: Number(port) }, { rewritesMetadata: true })
  await proxy.start()

  // On the same port as the first, so that one name stands for both.
  const seconds = await Promise.all(
    ADMISSION_SERVICES.map((service) => {
      const { port: internalPort } = new URL(stack.internalUrlOf(service))
      return stack.startReplica(service, { INTERNAL_HOST: '127.0.0.2', INTERNAL_PORT: internalPort })
    }),
  )
  const gatewayPort = String(await freePort())
  // The two gateways call a service's processes in opposite order.
  const addresses = ADMISSION_SERVICES.map((service, index) => [
    `${service.toUpperCase().replaceAll('-', '_')}_URLS`,
    `${seconds[index]?.internalUrl},${stack.internalUrlOf(service)}`,
  ])
  const { port: proxyPort } = proxy.addressFor()
  const second = await stack.startReplica('gateway', {
    ...Object.fromEntries(addresses),
    GATEWAY_PORT: gatewayPort,
    KAFKA_BROKERS: `${host}:${proxyPort}`,
  })
  const redis = new Redis(stack.redisUrl, { lazyConnect: true, maxRetriesPerRequest: null })
  redis.on('error', () => {}) // a fault kills Redis

  const admissionProcesses = [...ADMISSION_SERVICES, ...seconds.map(({ name }) => name)]
  const admissionUrls = [
    ...ADMISSION_SERVICES.map(stack.internalUrlOf),
    ...seconds.map(({ internalUrl }) => internalUrl),
  ]
  const ready = [stack.internalUrlOf('gateway'), ...admissionUrls, second.internalUrl]
  const signalAdmissionServices: RaceStack['signalAdmissionServices'] = (signal) => {
    for (const process of admissionProcesses) stack.kill(process, signal)
  }
  // The signal misses a starting process, which may then accept connections.
  const areDownOnceKilled = async (): Promise<boolean> => {
    signalAdmissionServices('SIGKILL')
    return !(await Promise.all(admissionUrls.map(isListening))).includes(true)
  }
  return {
    ...stack,
    gatewayUrls: [stack.gatewayUrl, `http://127.0.0.1:${gatewayPort}`],
    urlOf: (process) =>
      seconds.find(({ name }) => name === process)?.internalUrl ??
      (consumers.some(({ name }) => name === process) ? stack.internalUrlOf(process) : undefined),
    gatewayMetrics: [stack.internalUrlOf('gateway'), second.internalUrl].map((url) => `${url}/metrics`),
    proxy,
    redis,
    signalAdmissionServices,
    killAdmissionServices: async () => {
      if (await eventually(areDownOnceKilled, Boolean, 30_000, 20)) return
      throw new Error('An admission service still accepts connections after repeated kills.')
    },
    untilReady: async () => {
      await redis.ping()
      for (const url of ready) await eventually(() => isReady(url), Boolean, 60_000)
    },
    remove: async () => {
      redis.disconnect()
      await stack.remove()
      await proxy.stop()
    },
  }
}

/** Returns false only if the connection is refused. */
function isListening(url: string): Promise<boolean> {
  return fetch(`${url}/healthz`, { signal: AbortSignal.timeout(2_000) }).then(
    () => true,
    ({ cause }: { readonly cause?: { readonly code?: string } }) => cause?.code !== 'ECONNREFUSED',
  )
}
