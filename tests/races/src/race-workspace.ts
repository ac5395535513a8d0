import { createHash } from 'node:crypto'
import { keyOf } from './caller.ts'
import type { RaceFamily } from './race-families.ts'

/** Returns the id of a race's own organization, so that races do not share room. */
export function organizationOf(fault: string, family: string): string {
  return `${fault}-${family}`
}

/** Returns a workspace file with an organization per race, one without reachable limits for probes, and the given others. */
export function raceWorkspace(
  faults: readonly string[],
  families: readonly RaceFamily[],
  others: readonly { readonly id: string; readonly plan: object }[],
): string {
  const races = faults.flatMap((fault) => families.map(({ id, plan }) => configOf(organizationOf(fault, id), plan)))
  return JSON.stringify({
    organizations: [...races, configOf(PROBE, PROBE_PLAN), ...others.map(({ id, plan }) => configOf(id, plan))],
  })
}

export const PROBE = 'probe'
const PROBE_PLAN = {
  eventsPerMonth: 1_000_000,
  monthlyActiveUsers: 1_000_000,
  uniqueEvents: 1_000,
  uniqueTraits: 1_000,
}

function configOf(id: string, plan: object): object {
  const sha256 = createHash('sha256').update(keyOf(id)).digest('hex')
  const fast = { perSecond: 100_000, burst: 100_000 }
  const keys = [{ name: 'backend', kind: 'admin', environment: 'P', sha256 }]
  return { id, plan, projects: [{ id: 'shop', rateLimits: { admin: fast, sdk: fast }, keys }] }
}
