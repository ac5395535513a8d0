import { type Claim, type ClaimVerdict, DONE, type Reservation, type ReserveVerdict } from '@nextvisit/contracts'
import { givenService } from './given-gateway.ts'
import type { ReceivedCall } from './service-fixture.ts'

/** Starts a trait registry that keeps its names in memory. */
export function givenRegistry(registered: readonly string[] = []) {
  const names = new Set(registered)
  const verdictFor = (one: Claim, slug: string): ClaimVerdict => {
    if (names.has(slug)) return 'registered'
    if (names.size >= one.limit) return 'no-room'
    if (one.dryRun) return 'room'
    names.add(slug)
    return 'new'
  }
  return givenService({
    releaseClaims: async ({ questions }) => {
      for (const { slugs } of questions) for (const slug of slugs) names.delete(slug)
      return { answers: questions.map(() => DONE) }
    },
    claim: async ({ questions }) => ({
      answers: questions.map((one) => one.slugs.map((slug) => verdictFor(one, slug))),
    }),
  })
}

/** Starts a metering with room for this number of reservations; released ones can be granted again. */
export function givenMetering(room: number) {
  const granted = new Set<string>()
  const grant = ({ recordId }: Reservation): ReserveVerdict => {
    if (granted.size >= room) return 'no-room'
    granted.add(recordId)
    return 'granted'
  }
  return givenService({
    reserve: async ({ questions }) => ({ answers: questions.map(grant) }),
    release: async ({ questions }) => {
      for (const { recordId } of questions) granted.delete(recordId)
      return { answers: questions.map(() => DONE) }
    },
  })
}

export const claimsIn = (calls: readonly ReceivedCall[]) =>
  calls.flatMap(({ name, question }) => (name === 'claim' ? question.questions : []))
export const reservationsIn = (calls: readonly ReceivedCall[]) =>
  calls.flatMap(({ name, question }) => (name === 'reserve' ? question.questions : []))
export const releasedIn = (calls: readonly ReceivedCall[]) =>
  calls.flatMap(({ name, question }) => (name === 'release' ? question.questions.map(({ recordId }) => recordId) : []))
