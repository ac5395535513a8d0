import { expect, it } from 'vitest'
import { createMetrics } from './metrics.ts'

it("createMetrics names the service on the process's metrics", async () => {
  expect(await createMetrics('metering').metrics()).toMatch(/^process_cpu_seconds_total\{service="metering"\}/m)
})
