import { randomUUID } from 'node:crypto'
import { withLogAdmin, type Logger, UnsafeClusterError } from '@nextvisit/log'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { clusterCheckOf, type ServiceClusterCheckOptions } from './cluster-check-of.ts'

const connection = { brokers: inject('kafkaBrokers').split(','), clientId: 'test' }
const topic = `cluster-check.${randomUUID()}`

beforeAll(async () => {
  await withLogAdmin(connection, (admin) => admin.createTopic(topic, { partitions: 1, replicationFactor: 1 }))
})
const quiet = () => undefined

function givenCheck(options: Pick<ServiceClusterCheckOptions, 'mode' | 'locally'>) {
  const warnings: unknown[] = []
  const logger: Logger = { error: quiet, info: quiet, debug: quiet, warn: (fields) => void warnings.push(fields) }
  return { warnings, check: clusterCheckOf(connection, { topics: [topic], logger, onUnsafe: quiet, ...options }) }
}

describe('a service whose cluster could lose records', () => {
  it('does not start in production, even if it only warns in local mode', async () => {
    await expect(givenCheck({ mode: 'production' }).check.start()).rejects.toThrow(UnsafeClusterError)
    await expect(givenCheck({ mode: 'production', locally: 'warn' }).check.start()).rejects.toThrow(UnsafeClusterError)
  })

  it('starts in local mode, and warns only if it is configured to', async () => {
    const silent = givenCheck({ mode: 'local' })
    await silent.check.start()
    expect(silent.warnings).toEqual([])
    const warning = givenCheck({ mode: 'local', locally: 'warn' })
    await warning.check.start()
    expect(warning.warnings).toHaveLength(1)
  })
})
