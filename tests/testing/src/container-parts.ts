import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { freePort, IMAGES, kafkaContainerEnvironment } from '@nextvisit/local-stack'
import { dialContainersOnLoopback } from './config.ts'
import type { StartedPart } from './global-setup.ts'

dialContainersOnLoopback()
const { GenericContainer, Wait } = await import('testcontainers')

/** Returns true if an engine answers and has all three images. Tests must not download a gigabyte. */
export async function hasImages(): Promise<boolean> {
  return promisify(execFile)('docker', ['image', 'inspect', ...Object.values(IMAGES)], { timeout: 10_000 }).then(
    () => true,
    () => false,
  )
}

export async function startKafkaContainer(): Promise<StartedPart> {
  const port = await freePort() // the broker advertises it, so it must be known before the start
  const container = await new GenericContainer(IMAGES.kafka)
    .withExposedPorts({ container: 9092, host: port })
    .withEnvironment(kafkaContainerEnvironment(port))
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(120_000)
    .start()
  return { address: `127.0.0.1:${port}`, stop: async () => void (await container.stop()) }
}

export async function startPostgresContainer(): Promise<StartedPart> {
  const container = await new GenericContainer(IMAGES.postgres)
    .withExposedPorts(5432)
    .withEnvironment({ POSTGRES_PASSWORD: 'test' })
    .withCommand(['postgres', '-c', 'max_connections=200', '-c', 'fsync=off'])
    .withWaitStrategy(Wait.forLogMessage(/database system is ready to accept connections/, 2)) // the first message is from initdb
    .start()
  const place = `${container.getHost()}:${container.getMappedPort(5432)}`
  return { address: `postgresql://postgres:test@${place}/postgres`, stop: async () => void (await container.stop()) }
}

export async function startRedisContainer(): Promise<StartedPart> {
  const container = await new GenericContainer(IMAGES.redis)
    .withExposedPorts(6379)
    .withWaitStrategy(Wait.forLogMessage(/Ready to accept connections/))
    .start()
  return {
    address: `redis://${container.getHost()}:${container.getMappedPort(6379)}`,
    stop: async () => void (await container.stop()),
  }
}
