import { expect, it } from 'vitest'
import { createOutageLog } from './outage-log.ts'

it('an outage has a line at its beginning and one at its end, which names the first', () => {
  const logged: unknown[] = []
  const logger = {
    warn: (fields: object, line: string) => void logged.push(['warn', line, fields]),
    info: (fields: object, line: string) => void logged.push(['info', line, fields]),
  }
  const outage = createOutageLog(logger, { began: 'Redis is away', ended: 'Redis is back' })
  outage.end()
  for (const port of [1, 2]) outage.begin({ port })
  for (const port of [3, 4]) outage.end({ port })
  expect(logged).toEqual([
    ['warn', 'Redis is away', { port: 1 }],
    ['info', 'Redis is back', { port: 3, ends: 'Redis is away' }],
  ])
})
