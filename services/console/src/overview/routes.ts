import type { Dependencies } from '../dependencies.ts'
import { answered, serveApi } from '../http/api-route.ts'
import type { SamplerState } from '../metrics/sampler.ts'
import type { ServiceReading } from '../metrics/service-readings.ts'
import type { ReachedLimit } from '../registry/reached-limits.ts'
import { overviewApi } from './api.ts'
import { countUnowned } from './findings.ts'
import type { CountMembers } from './group-members.ts'
import { createSharedRead, withLastAnswer } from '../shared-read.ts'
import { overviewOf } from './overview.ts'

interface OverviewRoutesParts extends Pick<Dependencies, 'eraser' | 'dispatcher' | 'partitionCount' | 'nowMs'> {
  readonly readSamples: () => SamplerState
  readonly readReachedLimits: () => Promise<readonly ReachedLimit[]>
  readonly countMembers: CountMembers
}

/** The Overview shows what it knows rather than wait longer. */
const AGAIN_AFTER_MS = 5_000
const WAIT_MS = 500

/** Shares a read, and falls back to the last answer. */
function lastKnown<One>(read: () => Promise<readonly One[]>): () => Promise<readonly One[]> {
  return withLastAnswer(createSharedRead(read, AGAIN_AFTER_MS), WAIT_MS, [])
}

export function createOverviewRoutes({
  eraser,
  dispatcher,
  readSamples,
  readReachedLimits,
  countMembers,
  partitionCount,
  nowMs,
}: OverviewRoutesParts) {
  /** Counts the members of groups that own partitions unknown to the console. */
  async function readMembers(services: readonly ServiceReading[]): Promise<ReadonlyMap<string, number>> {
    const asked = services.filter((reading) => countUnowned(reading, partitionCount) > 0)
    const counts = await Promise.all(asked.map(async ({ service }) => [service, await countMembers(service)] as const))
    return new Map(counts.flatMap(([service, count]) => (count === undefined ? [] : [[service, count] as const])))
  }

  // A silent service is a finding of its own.
  const readErasures = lastKnown(async () => {
    const read = await eraser.readUnfinished({})
    return read.outcome === 'answered' ? read.answer.erasures : []
  })
  const readEndpoints = lastKnown(async () => {
    const read = await dispatcher.readUnhealthyEndpoints({})
    return read.outcome === 'answered' ? read.answer.endpoints : []
  })

  return serveApi(overviewApi, {
    readOverview: async () => {
      const state = readSamples()
      const [reached, members, erasures, endpoints] = await Promise.all([
        readReachedLimits(),
        readMembers(state.services),
        readErasures(),
        readEndpoints(),
      ])
      return answered(overviewOf({ ...state, reached, members, erasures, endpoints, partitionCount, nowMs: nowMs() }))
    },
  })
}
