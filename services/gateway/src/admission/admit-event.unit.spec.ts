import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { UserLookedUp } from '@nextvisit/contracts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import type { TrackBody } from '@nextvisit/domain'
import { describe, expect, it } from 'vitest'
import type { CheckedRequest } from '../http/route.ts'
import type { AdmissionParts } from './admission.ts'
import { admitEvent } from './admit-event.ts'
import type { ClaimResult } from './trait-registry.ts'
import type { NoVerdict, Reserved } from './verdicts.ts'

const [project] = staticCatalog([
  organizationConfig({ id: 'acme', plan: { eventsPerMonth: 10 }, projects: [{ id: 'shop' }] }),
]).projects()
const request = {
  receivedMs: Date.now(),
  project,
  key: { entry: { kind: 'admin', environment: 'P' } },
  requestId: 'a record',
  idempotency: 'none',
} as CheckedRequest
const body = { userName: 'ada', eventName: 'A', slug: 'a' } as TrackBody

/** Returns the parts of an admission in which the checks before the name have these verdicts. */
function partsOf(
  verdicts: { readonly existence?: UserLookedUp['existence'] | NoVerdict; readonly room?: Reserved['verdict'] },
  claimed: ClaimResult,
  released: string[] = [],
) {
  const { existence = 'exists', room = 'granted' } = verdicts
  return {
    knownUsers: { check: async () => existence },
    metering: {
      take: () => undefined,
      reserve: async ({ recordId }: { readonly recordId: string }) => ({
        verdict: room,
        release: async () => void released.push(`room of ${recordId}`),
      }),
    },
    traitRegistry: {
      claim: async () => claimed,
      release: async ({ slugs }: { readonly slugs: readonly string[] }) => void released.push(`name ${slugs.join()}`),
    },
  } as unknown as AdmissionParts
}

const user = { userId: 'a user', partition: 0 }

/** Returns the releases after the trait registry answered a claim like this. */
async function releasedAfter(claimed: ClaimResult): Promise<readonly string[]> {
  const released: string[] = []
  const admission = await admitEvent(partsOf({}, claimed, released), { request, body, user })
  expect(admission.outcome).toBe('refused')
  return released
}

describe('an event that is refused after it asked for room and a name (decisions.md, Order of checks)', () => {
  it('gives both back if the answer about the name is late, since the name may have been claimed', async () => {
    expect(await releasedAfter('crowded')).toEqual(['room of a record', 'name a'])
  })

  it('gives both back if there is no room for the name', async () => {
    expect(await releasedAfter(new Map([['a', 'no-room']]))).toEqual(['room of a record', 'name a'])
  })
})

const NEW: ClaimResult = new Map([['a', 'new']])
const admit = (...given: Parameters<typeof partsOf>) => admitEvent(partsOf(...given), { request, body, user })

describe('an event without a turn at a service (decisions.md, Busy and broken)', () => {
  it.each([
    ['for room', { existence: 'unknown', room: 'crowded' }, NEW],
    ['for a name', { existence: 'unknown' }, 'crowded'],
  ] as const)('%s is refused although the partition of its user lags', async (_case, verdicts, claimed) => {
    expect(await admit(verdicts, claimed)).toMatchObject({ outcome: 'refused', status: 503 })
  })

  it('passes unchecked if a service did not answer an earlier check', async () => {
    const unchecked = ['user', 'event-limit', 'event-name']
    const admission = await admit({ existence: 'unchecked', room: 'crowded' }, 'crowded')
    expect(admission).toMatchObject({ outcome: 'admitted', fact: { unchecked } })
  })

  it('leaves only existence unchecked if the partition of its user lags', async () => {
    expect(await admit({ existence: 'unknown' }, NEW)).toMatchObject({ fact: { unchecked: ['user'], newEvent: true } })
  })
})
