import perfHooks from 'node:perf_hooks'
import { expect, it, vi } from 'vitest'
import { createMetrics } from './metrics.ts'

it("createMetrics labels the process's metrics with the service", async () => {
  expect(await createMetrics('metering').metrics()).toMatch(/^process_cpu_seconds_total\{service="metering"\}/m)
})

it("createMetrics reports the event loop's present delay, and takes no samples, which would wake an idle process", async () => {
  const samples = vi.spyOn(perfHooks, 'monitorEventLoopDelay')
  const lines = (await createMetrics('metering').metrics())
    .split('\n')
    .filter((line) => line.startsWith('nodejs_eventloop'))
  expect(samples.mock.calls).toEqual([[{ resolution: 86_400_000 }]])
  samples.mockRestore()
  expect(lines).toEqual([expect.stringMatching(/^nodejs_eventloop_lag_seconds\{service="metering"\} /)])
})
