import { rm } from 'node:fs/promises'
import path from 'node:path'
import { TOPICS } from '@nextvisit/contracts'
import { type PartOptions, startKafka, startPostgres, startRedis } from '@nextvisit/local-stack'
import { withLogAdmin } from '@nextvisit/log'
import type { TestProject } from 'vitest/node'
import { readTestConfig } from './config.ts'
import { throwAwayFolder } from './throw-away-folder.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** `host:port`, separated by commas. */
    kafkaBrokers: string
    /** URL with a superuser. Specs create their own databases on this server. */
    databaseUrl: string
    redisUrl: string
  }
}

export interface StartedPart {
  readonly address: string
  readonly stop: () => Promise<void>
}

interface RealParts {
  readonly kafka: StartedPart
  readonly postgres: StartedPart
  readonly redis: StartedPart
}

/** The parts that all projects share. Vitest runs this file once per project, each time in its own module graph. */
const shared = globalThis as { nextvisitTestParts?: Promise<RealParts> }

/** Starts real parts, or uses the parts in the environment, and provides their addresses to the specs. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared.nextvisitTestParts ??= startParts()
  const { kafka, postgres, redis } = await shared.nextvisitTestParts
  project.provide('kafkaBrokers', kafka.address)
  project.provide('databaseUrl', postgres.address)
  project.provide('redisUrl', redis.address)
  return async () => {
    if (shared.nextvisitTestParts === undefined) return
    delete shared.nextvisitTestParts
    await Promise.all([kafka.stop(), postgres.stop(), redis.stop()])
  }
}

async function startParts(): Promise<RealParts> {
  const config = readTestConfig()
  const isComplete =
    config.kafkaBrokers !== undefined && config.databaseUrl !== undefined && config.redisUrl !== undefined
  const start = isComplete || !(await wantsContainers(config.parts)) ? startLocally : startAsContainer
  const [kafka, postgres, redis] = await Promise.all([
    given(config.kafkaBrokers) ?? start('kafka'),
    given(config.databaseUrl) ?? start('postgres'),
    given(config.redisUrl) ?? start('redis'),
  ])
  await makeReadyForGroups(kafka.address)
  await createChangesTopic(kafka.address)
  return { kafka, postgres, redis }
}

/** Creates the topic of changes, because every command and route writes there first. */
async function createChangesTopic(brokers: string): Promise<void> {
  await withLogAdmin({ brokers: brokers.split(','), clientId: 'test-setup' }, (admin) =>
    admin.createTopic(TOPICS.operatorChanges, { partitions: 1 }),
  )
}

/** Makes a new broker accept groups. It refuses them until the first request for a group has created its offsets topic. */
async function makeReadyForGroups(brokers: string): Promise<void> {
  await withLogAdmin({ brokers: brokers.split(','), clientId: 'test-setup' }, (admin) =>
    admin.describeGroup('nextvisit.test-setup'),
  )
}

function given(address: string | undefined): StartedPart | undefined {
  return address === undefined ? undefined : { address, stop: () => Promise.resolve() }
}

async function wantsContainers(parts: ReturnType<typeof readTestConfig>['parts']): Promise<boolean> {
  if (parts !== 'auto') return parts === 'docker'
  const { hasImages } = await import('./container-parts.ts')
  return hasImages()
}

async function startAsContainer(part: keyof RealParts): Promise<StartedPart> {
  const containers = await import('./container-parts.ts')
  if (part === 'kafka') return containers.startKafkaContainer()
  return part === 'postgres' ? containers.startPostgresContainer() : containers.startRedisContainer()
}

async function startLocally(part: keyof RealParts): Promise<StartedPart> {
  const folder = await throwAwayFolder()
  const options = { dataDirectory: path.join(folder, part), logFile: path.join(folder, `${part}.log`), durable: false }
  const { address, stop } = await startLocalPart(part, options)
  return {
    address,
    stop: async () => {
      await stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function startLocalPart(part: keyof RealParts, options: PartOptions): Promise<StartedPart> {
  if (part === 'kafka') {
    const kafka = await startKafka(options)
    return { address: kafka.brokers, stop: kafka.stop }
  }
  const server = part === 'postgres' ? await startPostgres({ ...options, password: 'test' }) : await startRedis(options)
  return { address: server.url, stop: server.stop }
}
