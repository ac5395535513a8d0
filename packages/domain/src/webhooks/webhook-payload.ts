import type { AnyFormFact, AnswerValue, SegmentFact, WebhookEvent, WebhookInclude } from '@nextvisit/contracts'

/** A member that another service has: it is asked for before the first attempt. */
export type CapturedMember = 'traits' | 'answers'

/** The body of a delivery without its captured members. */
export interface ThinPayload {
  readonly type: WebhookEvent
  readonly timestamp: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Returns the event that a record reports to webhooks; undefined: none. */
export function webhookEventOf(fact: AnyFormFact): WebhookEvent | undefined {
  switch (fact.type) {
    case 'FormQueued':
      return 'form.queued'
    case 'FormDelivered':
      return 'form.delivered'
    case 'FormExpired':
      return 'form.expired'
    case 'FormAnswered':
      return fact.outcome === 'recorded' ? EVENT_OF_ANSWER[fact.status] : undefined
    case 'SegmentEntered':
      return 'user.entered_segment'
    case 'SegmentLeft':
      return 'user.left_segment'
    case 'QueueErased':
      return 'user.erased'
    case 'FormCancelled':
      return undefined
  }
}

const EVENT_OF_ANSWER = { partial: undefined, finished: 'form.answered', dismissed: 'form.dismissed' } as const

/** Returns the payload of a record without its captured members; undefined: the record reports nothing. */
export function thinPayloadOf(fact: AnyFormFact): ThinPayload | undefined {
  const type = webhookEventOf(fact)
  return type && { type, timestamp: fact.at, data: dataOf(fact) }
}

/** Returns the members that the body of a delivery lacks at first. An erased user has none. */
export function capturedMembersOf(type: WebhookEvent, include: readonly WebhookInclude[]): readonly CapturedMember[] {
  const traits = type !== 'user.erased' && include.includes('traits')
  return [...(traits ? ['traits' as const] : []), ...(type === 'form.answered' ? ['answers' as const] : [])]
}

/** Captured members. Absent: not wanted, or the user has no profile. */
export interface Captured {
  readonly traits?: Readonly<Record<string, unknown>> | undefined
  readonly answers?: Readonly<Record<string, AnswerValue>> | undefined
}

/** Maximum size of the captured traits in bytes: as JSON in UTF-8. A user may have four times as many. Answers have a bound of their own. */
const MAX_TRAIT_BYTES = 65_536

/** Returns the body with its captured members. `thin`: the body without them. */
export function withCaptured(thin: string, { traits, answers }: Captured): string {
  const payload = JSON.parse(thin) as ThinPayload
  const data = { ...payload.data, ...(traits && withinTraitBytes(traits)), ...(answers && { answers }) }
  return JSON.stringify({ ...payload, data })
}

/** Leaves out the largest traits, if all of them are too large. */
function withinTraitBytes(traits: NonNullable<Captured['traits']>) {
  const sized = Object.entries(traits).map(([slug, value]) => {
    // With a colon and a comma.
    const bytes = Buffer.byteLength(JSON.stringify(slug)) + Buffer.byteLength(JSON.stringify(value)) + 2
    return { slug, bytes }
  })
  const omitted = new Set<string>()
  let bytes = sized.reduce((sum, one) => sum + one.bytes, 1)
  for (const largest of sized.toSorted((one, other) => other.bytes - one.bytes || (one.slug < other.slug ? 1 : -1))) {
    if (bytes <= MAX_TRAIT_BYTES) break
    omitted.add(largest.slug)
    bytes -= largest.bytes
  }
  if (omitted.size === 0) return { traits }
  const kept = Object.entries(traits).filter(([slug]) => !omitted.has(slug))
  return { traits: Object.fromEntries(kept), moreTraits: true }
}

function dataOf(fact: AnyFormFact): ThinPayload['data'] {
  const { organization, project, userId } = fact
  const user = { organization, project, userId }
  if (fact.type === 'QueueErased') return { ...user, erasureId: fact.erasureId }
  if ('segmentId' in fact) return { ...user, ...segmentMembersOf(fact) }
  return { ...user, ...formMembersOf(fact), ...ownMembersOf(fact) }
}

function segmentMembersOf({ segmentId, cause, causeId }: SegmentFact) {
  return { segmentId, cause, ...(causeId !== undefined && { causeId }) }
}

interface FormMembers {
  readonly formId: string
  readonly queuedId: string
  readonly causeId?: string | undefined
}

function formMembersOf({ formId, queuedId, causeId }: FormMembers) {
  return { formId, offerId: queuedId, ...(causeId !== undefined && { causeId }) }
}

/** Returns the members that only one type of form events has. */
function ownMembersOf(fact: AnyFormFact) {
  if (fact.type === 'FormQueued') return { environment: fact.environment }
  if (fact.type !== 'FormAnswered' || fact.status !== 'finished') return {}
  const { revision, language } = fact
  return { revision, ...(language !== undefined && { language }) }
}
