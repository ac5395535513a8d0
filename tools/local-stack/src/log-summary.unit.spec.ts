import { describe, expect, it } from 'vitest'
import { createLogSummary } from './log-summary.ts'

describe('createLogSummary', () => {
  it('tells a warning once, and nothing else', () => {
    const told: string[] = []
    const onLine = createLogSummary((line) => told.push(line))
    onLine('metering', '{"level":"info","msg":"ready"}')
    onLine('metering', '{"level":"warn","msg":"Postgres is away"}')
    onLine('metering', '{"level":"warn","msg":"Postgres is away"}')
    onLine('gateway', '{"level":"error","msg":"Kafka is away"}')
    onLine('gateway', '{"level":"error"')
    onLine('gateway', '{"level":"warn","kafkajs":"Connection","msg":"Response InitProducerId"}')
    onLine('gateway', 'no JSON')
    expect(told).toEqual(['metering: Postgres is away', 'gateway: Kafka is away'])
  })
})
