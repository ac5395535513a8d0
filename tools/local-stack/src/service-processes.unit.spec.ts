import { readFileSync } from 'node:fs'
import path from 'node:path'
import { parseEnv } from 'node:util'
import { expect, it } from 'vitest'
import { CHECKOUT } from './config.ts'
import { replicaOf, serviceProcesses, type ServicesOptions } from './service-processes.ts'

const limits = parseEnv(readFileSync(path.join(CHECKOUT, 'infra/service.env'), 'utf8'))

function given(environment: NodeJS.ProcessEnv): ServicesOptions {
  return {
    kafkaBrokers: 'localhost:9092',
    databaseUrls: new Map(),
    adminDatabaseUrl: '',
    redisUrl: 'redis://localhost',
    dataDirectory: '/nowhere',
    gatewayPort: 8080,
    secrets: {
      adminKey: '',
      sdkKey: '',
      testAdminKey: '',
      testSdkKey: '',
      internalToken: '',
      secretKey: '',
      databasePassword: '',
      consoleToken: '',
      consoleViewerToken: '',
    },
    environment,
    onLine: () => {},
  }
}

it('the local stack limits the memory of every service, and of its replicas', async () => {
  const { gateway, consumers } = await serviceProcesses(given({ NODE_OPTIONS: '' }))
  const replica = await replicaOf(gateway, 'gateway-2', {})
  for (const { plan } of [...consumers, gateway, replica]) expect(plan.env).toMatchObject(limits)
  expect(limits['NODE_OPTIONS']).toContain('--max-old-space-size=')
})

it('the local stack appends Node options of the environment', async () => {
  const { gateway } = await serviceProcesses(given({ NODE_OPTIONS: '--expose-gc' }))
  expect(gateway.plan.env?.['NODE_OPTIONS']).toBe(`${limits['NODE_OPTIONS']} --expose-gc`)
})
