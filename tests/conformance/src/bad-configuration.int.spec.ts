import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { consumers } from '@nextvisit/services'
import { compiledCode } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'

const SERVICES = path.resolve(import.meta.dirname, '../../../services')

describe('a service without configuration', () => {
  it.each(['gateway', ...consumers.map(({ name }) => name), 'console'])(
    '%s ends with 2 and names every variable that it needs',
    (service) => {
      const main = path.join(SERVICES, service, 'src/main.ts')
      const { status, stderr } = spawnSync(process.execPath, [main], { env: compiledCode(), encoding: 'utf8' })
      expect(stderr).toContain('KAFKA_BROKERS is not set: must be host:port')
      expect(stderr).toContain('INTERNAL_TOKEN is not set')
      expect(stderr, 'no stack').not.toMatch(/^ {4}at /m)
      expect(status).toBe(2)
    },
  )
})
