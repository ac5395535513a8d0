import { z } from 'zod'

/** Decides whether a trace is sampled. `isCallers`: the caller's flag; undefined if the trace begins here. */
export type Sample = (traceId: string, isCallers: boolean | undefined) => boolean

export interface SamplerOptions {
  /** The caller's flag decides about the caller's traces. */
  readonly isParentBased: boolean
  /** The sampled part of the other traces. */
  readonly ratio: number
  /** Maximum sampled requests in one second, of traces that begin here, and as many of callers' traces. */
  readonly maxPerSecond: number
}

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const
const RATIO = 'must be a ratio from 0 to 1, such as 0.01'
const PER_SECOND = 'must be a number of requests'

/** `sampler`: which requests are sampled, from OpenTelemetry's variables and a bound of our own. */
export const samplerConfig = z
  .object({
    OTEL_TRACES_SAMPLER: z.enum(SAMPLERS, `must be one of ${SAMPLERS.join(', ')}`).default('parentbased_always_on'),
    OTEL_TRACES_SAMPLER_ARG: z.coerce.number(RATIO).min(0, RATIO).max(1, RATIO).default(1),
    GATEWAY_MAX_TRACES_PER_SECOND: z.coerce.number(PER_SECOND).int(PER_SECOND).min(1, PER_SECOND).default(50),
  })
  .transform(({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: ratio, ...env }): { sampler: SamplerOptions } => {
    const ratios = { always_on: 1, always_off: 0, traceidratio: ratio }
    return {
      sampler: {
        isParentBased: name.startsWith('parentbased_'),
        ratio: ratios[name.replace('parentbased_', '') as keyof typeof ratios],
        maxPerSecond: env.GATEWAY_MAX_TRACES_PER_SECOND,
      },
    }
  })

/**
 * Creates the sampler. A caller may choose a trace id and set the flag, so callers' traces have a bound, and take no room from those
 * that begin here. The ratio is of the last 56 bits of the trace id, which are random (W3C Trace Context, level 2).
 */
export function createTraceSampler(
  { isParentBased, ratio, maxPerSecond }: SamplerOptions,
  nowMs: () => number = () => performance.now(),
): Sample {
  const own = createBound(maxPerSecond, nowMs)
  const callers = createBound(maxPerSecond, nowMs)
  const below = ratio * 2 ** 56
  return (traceId, isCallers) => {
    const isWanted =
      isParentBased && isCallers !== undefined
        ? isCallers
        : ratio === 1 || (ratio > 0 && Number.parseInt(traceId.slice(18), 16) < below)
    return isWanted && (isCallers === undefined ? own() : callers())
  }
}

/** Returns a function that returns true this many times in a second. */
function createBound(maxPerSecond: number, nowMs: () => number): () => boolean {
  let [beganAt, taken] = [Number.NEGATIVE_INFINITY, 0]
  return () => {
    const now = nowMs()
    if (now - beganAt >= 1_000) [beganAt, taken] = [now, 0]
    taken += 1
    return taken <= maxPerSecond
  }
}
