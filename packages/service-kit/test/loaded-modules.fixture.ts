/** A process for tracing.int.spec.ts: starts traces as its argument says, and prints how many modules of OpenTelemetry it loaded, except its API: prom-client imports that. */
import { registerHooks } from 'node:module'

let loaded = 0
registerHooks({
  load: (url, context, next) => {
    if (/@opentelemetry\/(?!api\/)/.test(url)) loaded += 1
    return next(url, context)
  },
})
const { createLogger, createMetrics, readConfig, startTracing, tracingConfig } = await import('../src/index.ts')
const [, , endpoint] = process.argv
const { tracing: config } = readConfig(tracingConfig, { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })
const parts = { service: 'fixture', logger: createLogger('fixture', 'silent'), metrics: createMetrics('fixture') }
const tracing = await startTracing(config, parts)
await tracing?.stop()
process.stdout.write(String(loaded))
