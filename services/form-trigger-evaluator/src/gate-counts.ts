import type { GateCounts, GateCountsAnswer, GateCountsQuery, GateReason, ProjectRef } from '@nextvisit/contracts'
import { projectKeyOf } from '@nextvisit/domain'

const HOUR_MS = 3_600_000
const KEPT_MS = 24 * HOUR_MS
const SLICE_MS = 600_000
/** Maximum number of forms over all slices. Each costs about 250 bytes. */
const MAX_ENTRIES = 100_000

/** A form that a gate stopped. */
export interface StoppedForm extends ProjectRef {
  readonly formId: string
  readonly reason: GateReason
}

type Counts = Map<GateReason, number>

/** The counts of ten minutes. */
interface Slice {
  readonly startMs: number
  /** By `projectKeyOf`, then by form. */
  readonly projects: Map<string, Map<string, Counts>>
  entries: number
}

/**
 * Counts the gates that stopped forms in the last day, by this process's decisions. In memory: a write for each decision would cost
 * more than the decision. Memory is bounded: with very many forms the oldest slices are dropped first, and answers name the
 * beginning of their counts.
 */
export function createGateCounts(nowMs: () => number, maxEntries = MAX_ENTRIES) {
  const slices: Slice[] = []
  let sinceMs = nowMs()
  let entries = 0

  const forgetOldest = (): void => {
    entries -= slices.shift()?.entries ?? 0
  }

  /** Returns the slice of this moment, and drops slices that are too old. */
  const currentSlice = (): Slice => {
    const startMs = Math.floor(nowMs() / SLICE_MS) * SLICE_MS
    while ((slices[0]?.startMs ?? startMs) < startMs - KEPT_MS) forgetOldest()
    const last = slices.at(-1)
    if (last?.startMs === startMs) return last
    const slice: Slice = { startMs, projects: new Map(), entries: 0 }
    slices.push(slice)
    return slice
  }

  /** Adds a form to the present slice. If that slice alone is too large, it begins again. */
  const newCounts = (stopped: StoppedForm): Counts => {
    if (entries >= maxEntries) {
      forgetOldest()
      sinceMs = Math.max(sinceMs, slices[0]?.startMs ?? nowMs())
    }
    const slice = currentSlice()
    const key = projectKeyOf(stopped)
    const forms = slice.projects.get(key) ?? new Map<string, Counts>()
    const counts: Counts = new Map()
    slice.projects.set(key, forms.set(stopped.formId, counts))
    slice.entries += 1
    entries += 1
    return counts
  }

  const knownCounts = (stopped: StoppedForm): Counts | undefined =>
    currentSlice().projects.get(projectKeyOf(stopped))?.get(stopped.formId)

  return {
    add: (all: readonly StoppedForm[]): void => {
      for (const one of all) {
        const counts = knownCounts(one) ?? newCounts(one)
        counts.set(one.reason, (counts.get(one.reason) ?? 0) + 1)
      }
    },
    read: ({ formIds, hours, ...project }: GateCountsQuery): GateCountsAnswer => {
      const fromMs = Math.floor((nowMs() - hours * HOUR_MS) / SLICE_MS) * SLICE_MS
      const read = slices.filter(({ startMs }) => startMs >= fromMs)
      const ofProject = read.flatMap(({ projects }) => projects.get(projectKeyOf(project)) ?? [])
      return {
        since: new Date(Math.max(fromMs, sinceMs)).toISOString(),
        forms: formIds.map((formId) => sumOf(ofProject.flatMap((forms) => forms.get(formId) ?? []))),
      }
    },
  }
}

function sumOf(all: readonly Counts[]): GateCounts {
  const sum: GateCounts = {}
  for (const counts of all) for (const [reason, count] of counts) sum[reason] = (sum[reason] ?? 0) + count
  return sum
}
