import { describe, expect, it } from 'vitest'
import { createLogSummary } from './log-summary.ts'

describe('createLogSummary', () => {
  it('prints a warning once, and nothing else', () => {
    const printed: string[] = []
    const onLine = createLogSummary((line) => printed.push(line))
    onLine('metering', '{"level":"info","msg":"ready"}')
    onLine('metering', '{"level":"warn","msg":"Postgres is unavailable"}')
    onLine('metering', '{"level":"warn","msg":"Postgres is unavailable"}')
    onLine('gateway', '{"level":"error","msg":"Kafka is unavailable"}')
    onLine('gateway', '{"level":"error"')
    onLine('gateway', '{"level":"warn","kafkajs":"Connection","msg":"Response InitProducerId"}')
    onLine('gateway', 'not JSON')
    expect(printed).toEqual(['! metering: Postgres is unavailable', '! gateway: Kafka is unavailable'])
  })

  it('prints the end of an outage that it has printed', () => {
    const printed: string[] = []
    const onLine = createLogSummary((line) => printed.push(line))
    const back = '{"level":"info","msg":"Redis is back","ends":"Redis is unavailable"}'
    onLine('gateway', back)
    onLine('gateway', '{"level":"warn","msg":"Redis is unavailable"}')
    onLine('metering', back)
    onLine('gateway', back)
    onLine('gateway', back)
    expect(printed).toEqual(['! gateway: Redis is unavailable', '✓ gateway: Redis is back'])
  })
})
