import { spawnSync } from 'node:child_process'
import { consumers } from '@nextvisit/services'
import { bundledPrograms, compiledCode } from '@nextvisit/testing'
import { describe, expect, it } from 'vitest'

// compose.int.spec.ts starts the sources.
const programOf = await bundledPrograms()

describe('a service without configuration', () => {
  it.each(['gateway', ...consumers.map(({ name }) => name), 'console'])(
    '%s ends with 2 and names every variable that it needs',
    (service) => {
      const main = programOf(`services/${service}/src/main.ts`)
      const { status, stderr } = spawnSync(process.execPath, [main], { env: compiledCode(), encoding: 'utf8' })
      expect(stderr).toContain('KAFKA_BROKERS is not set: must be host:port')
      expect(stderr).toContain('INTERNAL_TOKEN is not set')
      expect(stderr, 'no stack').not.toMatch(/^ {4}at /m)
      expect(status).toBe(2)
    },
  )
})
