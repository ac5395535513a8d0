import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { type Part, startKafka, startPostgres, startRedis } from '@nextvisit/local-stack'
import { consumers } from '@nextvisit/services'
import { throwAwayFolder } from '@nextvisit/testing/own-parts'
import { callCarefully, eventually, keyNamed } from '@nextvisit/testing/black-box'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { clusterOfProcesses, type ClusterOfProcesses } from './cluster-of-processes.ts'
import { findHelm } from './find-helm.ts'
import { renderChart } from './render-chart.ts'

const WORKSPACE = `organizations:
  - id: acme
    projects:
      - id: shop
        keys: [{ name: backend, kind: admin, environment: P, secret: $SHOP_ADMIN_P }]
`
const SERVICES = ['gateway', ...consumers.map(({ name }) => name), 'console']

// One broker cannot have the three replicas that production mode requires, so the mode is local.
describe('the environments that the chart renders', () => {
  let folder: string
  const parts: Part[] = []
  let cluster: ClusterOfProcesses

  beforeAll(async () => {
    folder = await throwAwayFolder()
    const optionsOf = (name: string) => ({
      dataDirectory: path.join(folder, name),
      logFile: path.join(folder, `${name}.log`),
      durable: false,
    })
    const [kafka, postgres, redis] = await Promise.all([
      startKafka(optionsOf('kafka')),
      startPostgres({ ...optionsOf('postgres'), password: randomBytes(12).toString('hex') }),
      startRedis(optionsOf('redis')),
      findHelm(),
    ])
    parts.push(kafka, postgres, redis)
    const objects = await renderChart({
      mode: 'local',
      listenAddress: '127.0.0.1',
      kafka: { brokers: [kafka.brokers], tls: false, replicas: 1 },
      workspace: { file: WORKSPACE, existingSecret: 'keys' },
      services: { gateway: { shutdownDelayMs: 500 } },
      console: { allowReplays: true },
    })
    cluster = await clusterOfProcesses(
      objects,
      { nextvisit: secretOf(postgres.url, redis.url), keys: { SHOP_ADMIN_P: keyNamed('SHOP_ADMIN_P') } },
      path.join(folder, 'pods'),
    )
  }, 240_000)

  afterAll(async () => {
    await cluster?.stop()
    await Promise.all(parts.map((part) => part.stop()))
    await rm(folder, { recursive: true, force: true })
  })

  it('prepare databases and topics before an installation', async () => {
    const outputs = await cluster.runHooks('pre-install')
    expect([...outputs.keys()]).toEqual(['migrate', 'topics'])
    expect(outputs.get('topics')).toContain('user-events: created')
  })

  it('start every service, without a workspace file yet', async () => {
    await expect(cluster.startDeployments()).resolves.toBeUndefined()
  })

  it('apply the workspace file, and count an event that the gateway accepts', async () => {
    expect((await cluster.runHooks('post-install')).get('apply')).toContain('acme is at revision 1')
    const send = (route: string, body: Readonly<Record<string, unknown>>) =>
      callCarefully({
        gatewayUrl: cluster.urlOf('gateway', 'GATEWAY_PORT'),
        route,
        apiKey: keyNamed('SHOP_ADMIN_P'),
        body: { userName: 'ada', ...body },
      })
    expect(await send('/v2/admin/identify-user', {})).toMatchObject({ status: 200 })
    expect(await send('/v2/admin/track-event', { eventName: 'Checkout Completed' })).toMatchObject({ status: 202 })
  })

  it('let the test of the release see every process', async () => {
    const outputs = await eventually(
      () => cluster.runHooks('test').catch((error: Error) => new Map([['status', error.message]])),
      (answer) => SERVICES.every((name) => name === 'console' || (answer.get('status') ?? '').includes(name)),
      30_000,
      500,
    )
    expect(outputs.get('status')).not.toContain('failed')
    for (const name of SERVICES.filter((one) => one !== 'console')) expect(outputs.get('status')).toContain(name)
  })

  it('show the console to browsers', async () => {
    const page = await fetch(cluster.urlOf('console', 'CONSOLE_PORT'))
    expect(page.status).toBe(200)
  })

  it('let every service stop by itself', async () => {
    expect(await cluster.stop()).toEqual(Object.fromEntries(SERVICES.map((name) => [name, 'exit code 0'])))
  })
})

function secret(): string {
  return randomBytes(24).toString('hex')
}

/** Returns the keys of the Secret, with the values that an operator chooses. */
function secretOf(postgresUrl: string, redisUrl: string): Readonly<Record<string, string>> {
  const database = new URL(postgresUrl)
  database.pathname = '/nextvisit'
  const own = consumers.map(({ role, databaseVariable }) => {
    const url = new URL(database)
    url.username = role
    url.password = secret()
    return [databaseVariable, url.href]
  })
  return {
    INTERNAL_TOKEN: secret(),
    NEXTVISIT_SECRET_KEY: randomBytes(32).toString('hex'),
    CONSOLE_TOKEN: secret(),
    REDIS_URL: redisUrl,
    DATABASE_URL: database.href,
    ...Object.fromEntries(own),
  }
}
