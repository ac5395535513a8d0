import {
  type Claim,
  ClaimRequest,
  INTERNAL_ROUTES,
  ReleaseRequest,
  type Reservation,
  ReserveRequest,
} from '@nextvisit/contracts'
import { givenService } from './given-gateway.ts'

const { reserve, release, claim, releaseClaims } = INTERNAL_ROUTES
type Calls = readonly { readonly path: string; readonly body: unknown }[]

/** A registry as trait-registry keeps it, in memory. */
export function givenRegistry(registered: readonly string[] = []) {
  const names = new Set(registered)
  const verdictFor = (one: Claim, slug: string) => {
    if (names.has(slug)) return 'registered'
    if (names.size >= one.limit) return 'no-room'
    if (one.dryRun) return 'room'
    names.add(slug)
    return 'new'
  }
  return givenService({
    [releaseClaims]: async ({ claims }) => {
      for (const { slugs } of claims) for (const slug of slugs) names.delete(slug)
      return {}
    },
    [claim]: async ({ claims }) => ({
      verdicts: claims.map((one) => one.slugs.map((slug) => verdictFor(one, slug))),
    }),
  })
}

/** Metering as it grants: `room` reservations, released ones again. */
export function givenMetering(room: number) {
  const granted = new Set<string>()
  const grant = ({ recordId }: Reservation) => {
    if (granted.size >= room) return 'exhausted'
    granted.add(recordId)
    return 'granted'
  }
  return givenService({
    [reserve]: async ({ reservations }) => ({ verdicts: reservations.map(grant) }),
    [release]: async ({ recordIds }) => {
      for (const recordId of recordIds) granted.delete(recordId)
      return {}
    },
  })
}

export const claimsIn = (calls: Calls) =>
  calls.flatMap(({ path, body }) => (path === claim ? ClaimRequest.parse(body).claims : []))
export const reservationsIn = (calls: Calls) =>
  calls.flatMap(({ path, body }) => (path === reserve ? ReserveRequest.parse(body).reservations : []))
export const releasedIn = (calls: Calls) =>
  calls.flatMap(({ path, body }) => (path === release ? ReleaseRequest.parse(body).recordIds : []))
