import { describe, expect, it } from 'vitest'
import { createLogSummary } from './log-summary.ts'

describe('createLogSummary', () => {
  it('tells a warning once, and nothing else', () => {
    const told: string[] = []
    const onLine = createLogSummary((line) => told.push(line))
    onLine('metering', '{"level":30,"msg":"ready"}')
    onLine('metering', '{"level":40,"msg":"Postgres is away"}')
    onLine('metering', '{"level":40,"msg":"Postgres is away"}')
    onLine('gateway', '{"level":50,"msg":"Kafka is away"}')
    onLine('gateway', '{"level":50')
    onLine('gateway', 'no JSON')
    expect(told).toEqual(['metering: Postgres is away', 'gateway: Kafka is away'])
  })
})
