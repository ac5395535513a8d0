import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import type { TrackBody } from '@nextvisit/domain'
import { describe, expect, it } from 'vitest'
import type { CheckedRequest } from '../http/route.ts'
import type { AdmissionParts } from './admission.ts'
import { admitEvent } from './admit-event.ts'
import type { ClaimResult } from './trait-registry.ts'

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

/** Returns the releases after the trait registry answered a claim like this. */
async function releasedAfter(claimed: ClaimResult): Promise<readonly string[]> {
  const released: string[] = []
  const parts = {
    knownUsers: { check: async () => 'exists' },
    metering: {
      take: () => undefined,
      reserve: async ({ recordId }: { readonly recordId: string }) => ({
        verdict: 'granted',
        release: async () => void released.push(`room of ${recordId}`),
      }),
    },
    traitRegistry: {
      claim: async () => claimed,
      release: async ({ slugs }: { readonly slugs: readonly string[] }) => void released.push(`name ${slugs.join()}`),
    },
  } as unknown as AdmissionParts
  const user = { userId: 'a user', partition: 0 }
  const admission = await admitEvent(parts, { request, body, user })
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
