import { isRequestFact, RECORDS, type RouteSignature, TOPICS, Unchecked, type UserFact } from '@nextvisit/contracts'
import { createHistogram } from '@nextvisit/service-kit'
import { Counter, Gauge, type Registry } from 'prom-client'
import type { UndecryptableSecrets } from './ingest/signing-secrets.ts'

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>

/** Creates the metrics of the gateway. */
export function createGatewayMetrics(registry: Registry) {
  const registers = [registry]
  /** Labelled by the route's pattern, never by a URL. */
  const durations = createHistogram(registry, {
    name: 'nextvisit_gateway_request_seconds',
    help: 'From the headers of a request to its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 2.5],
  })
  const serviceCalls = new Counter({
    name: 'nextvisit_gateway_owner_calls_total',
    help: 'Calls of admission and reads to services, by service and call',
    labelNames: ['owner', 'call'],
    registers,
  })
  const records = new Counter({
    name: 'nextvisit_gateway_records_total',
    help: 'Records that are in the log or may be, by type, including items of batches',
    labelNames: ['type'],
    registers,
  })
  const unchecked = new Counter({
    name: 'nextvisit_gateway_unchecked_total',
    help: 'Records admitted without a check, because its service did not answer in time, by check',
    labelNames: ['check'],
    registers,
  })
  const replyWaits = createHistogram(registry, {
    name: 'nextvisit_gateway_reply_wait_seconds',
    help: 'From the ack of a record to the evaluator’s reply, or until the gateway stopped waiting',
    labelNames: ['outcome'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2],
  })
  const leftOut = new Counter({
    name: 'nextvisit_gateway_segment_left_out_total',
    help: 'Parts of Segment requests that are not recorded, by reason: messages of anonymous users, messages of ignored types, values that no trait can hold',
    labelNames: ['reason'],
    registers,
  })
  const invalidDeviceFields = new Counter({
    name: 'nextvisit_gateway_invalid_device_fields_total',
    help: 'Device facts of visits that were invalid, and dropped, by field',
    labelNames: ['field'],
    registers,
  })
  const refusals = new Counter({
    name: 'nextvisit_gateway_refusals_total',
    help: 'Refused requests of routes that take a key, and refused items of batches, by the name of the refusal',
    labelNames: ['reason'],
    registers,
  })
  const droppedRefusals = new Counter({
    name: 'nextvisit_gateway_refusals_dropped_total',
    help: 'Refusals missing in the list of refusals: Redis was unavailable (redis), or too many projects had refusals in one second (projects)',
    labelNames: ['because'],
    registers,
  })
  const breakersOpen = new Gauge({
    name: 'nextvisit_gateway_breaker_open',
    help: '1 while calls to this part fail at once',
    labelNames: ['breaker'],
    registers,
  })
  // From the start, so that an increase shows from the first one on.
  for (const [type, { topic }] of Object.entries(RECORDS)) if (topic === TOPICS.userEvents) records.inc({ type }, 0)
  for (const check of Unchecked.options) unchecked.inc({ check }, 0)
  for (const outcome of ['replied', 'later']) replyWaits.zero({ outcome })
  for (const because of ['redis', 'projects']) droppedRefusals.inc({ because }, 0)
  return {
    onAnswered: ({ method, pattern }: RouteSignature, status: number, durationMs: number, traceparent?: string) =>
      durations.observe({ method, route: pattern, status: String(status) }, durationMs / 1_000, traceparent),
    /** Counts a call to a service. A known user and a known name need none if the plan has no limit. */
    onServiceCall: (service: string, call: string) => serviceCalls.inc({ owner: service, call }),
    /**
     * Counts a record that is in the log, or may be, its missing checks (decisions.md, Busy and broken), and its invalid device
     * facts.
     */
    onRecorded: (fact: UserFact) => {
      records.inc({ type: fact.type })
      for (const check of isRequestFact(fact) ? fact.unchecked : []) unchecked.inc({ check })
      const invalid = fact.type === 'IdentifyRequested' ? (fact.invalidDeviceFields ?? []) : []
      for (const field of invalid) invalidDeviceFields.inc({ field })
    },
    onLeftOut: (reason: string, count: number) => leftOut.inc({ reason }, count),
    onRefused: (reason: string) => refusals.inc({ reason }),
    onRefusalsDropped: (because: string, count: number) => droppedRefusals.inc({ because }, count),
    onReplyAwaited: (waitedMs: number, hasCome: boolean, traceparent?: string) =>
      replyWaits.observe({ outcome: hasCome ? 'replied' : 'later' }, waitedMs / 1_000, traceparent),
    onBreaker: (breaker: string, isOpen: boolean) => breakersOpen.set({ breaker }, isOpen ? 1 : 0),
  }
}

/** Registers the gauge of signing secrets that this process cannot decrypt. */
export function createSecretMetrics(registry: Registry, undecryptable: () => readonly UndecryptableSecrets[]): void {
  const gauge = new Gauge({
    name: 'nextvisit_gateway_undecryptable_secrets',
    help: 'Projects whose pages get 503, because NEXTVISIT_SECRET_KEY cannot decrypt their signing secrets, by the missing key (damaged: none is missing)',
    labelNames: ['key'],
    registers: [],
    collect() {
      this.reset()
      for (const { keyId = 'damaged', projects } of undecryptable()) this.set({ key: keyId }, projects.length)
    },
  })
  registry.registerMetric(gauge)
}
