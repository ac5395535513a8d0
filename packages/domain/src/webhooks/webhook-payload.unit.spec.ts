import { type AnyFormFact, WEBHOOK_PAYLOADS, WebhookEvent } from '@nextvisit/contracts'
import {
  answerGiven,
  formAnswered,
  formCancelled,
  formDelivered,
  formExpired,
  formQueued,
  queueErased,
  segmentEntered,
  segmentLeft,
} from '@nextvisit/contracts/fixtures'
import { describe, expect, it } from 'vitest'
import { deliveryIdOf, LIVE_STREAM } from './delivery-id.ts'
import { capturedMembersOf, thinPayloadOf, webhookEventOf, withCaptured } from './webhook-payload.ts'

const facts: Readonly<Record<WebhookEvent, AnyFormFact>> = {
  'form.queued': formQueued(),
  'form.delivered': formDelivered(),
  'form.answered': formAnswered(answerGiven({ status: 'finished', language: 'de' })),
  'form.dismissed': formAnswered(answerGiven({ status: 'dismissed' })),
  'form.expired': formExpired(),
  'user.entered_segment': segmentEntered(),
  'user.left_segment': segmentLeft(),
  'user.erased': queueErased(),
}
const answers = { score: 9 }

describe('the payload of a record', () => {
  it.each(WebhookEvent.options)('reports %s as the contract says, once its members are captured', (event) => {
    const fact = facts[event]
    expect(webhookEventOf(fact)).toBe(event)
    for (const include of [[], ['traits']] as const) {
      const members = capturedMembersOf(event, include)
      const traits = members.includes('traits') ? { plan: 'pro' } : undefined
      const body = withCaptured(JSON.stringify(thinPayloadOf(fact)), {
        traits,
        answers: members.includes('answers') ? answers : undefined,
      })
      expect(WEBHOOK_PAYLOADS[event].parse(JSON.parse(body))).toMatchObject({ timestamp: fact.at })
    }
  })

  it.each([
    formCancelled(),
    formAnswered(answerGiven({ status: 'partial' })),
    formAnswered(answerGiven(), { outcome: 'late' }),
    formAnswered(answerGiven(), { outcome: 'unmatched' }),
  ])('is absent of $type $outcome $status', (fact) => {
    expect([webhookEventOf(fact), thinPayloadOf(fact)]).toEqual([undefined, undefined])
  })

  it('contains neither answers nor names before they are captured', () => {
    const text = JSON.stringify(Object.values(facts).map(thinPayloadOf))
    expect(text).not.toMatch(/answers|elements|sealed|userName|traits/)
  })

  it('names the request that queued the form, if the record does', () => {
    const causeId = crypto.randomUUID()
    for (const fact of [formQueued, formDelivered, formExpired]) {
      expect(thinPayloadOf(Object.assign(fact(), { causeId }))?.data).toMatchObject({ causeId })
    }
    expect(thinPayloadOf(segmentEntered({ cause: 'time', causeId: undefined }))?.data).not.toHaveProperty('causeId')
  })

  it('has at most 65,536 bytes of traits: the largest are left out, and it says so', () => {
    const thin = JSON.stringify(thinPayloadOf(formQueued()))
    const dataOf = (traits: Readonly<Record<string, unknown>>) => {
      const payload = WEBHOOK_PAYLOADS['form.queued'].parse(JSON.parse(withCaptured(thin, { traits })))
      return { ...payload.data, bytes: Buffer.byteLength(JSON.stringify(payload.data.traits)) }
    }
    const fitting = { plan: 'pro', notes: `${'é'.repeat(32_755)}.` }
    expect(dataOf(fitting)).toMatchObject({ traits: fitting, bytes: 65_536 })
    expect(dataOf(fitting)).not.toHaveProperty('moreTraits')
    expect(dataOf({ ...fitting, notes: `${fitting.notes}.` })).toMatchObject({
      traits: { plan: 'pro' },
      moreTraits: true,
    })
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, nth) => [`trait_${nth}`, 'x'.repeat(100 + nth)]))
    const { traits = {}, moreTraits, bytes } = dataOf(many)
    expect(Object.keys(traits)).toEqual(Object.keys(many).slice(0, Object.keys(traits).length))
    expect([moreTraits, bytes > 64_000, bytes <= 65_536]).toEqual([true, true, true])
  })

  it('has no captured members of a user who is erased', () => {
    expect(capturedMembersOf('user.erased', ['traits'])).toEqual([])
    expect(capturedMembersOf('form.answered', ['traits'])).toEqual(['traits', 'answers'])
  })
})

describe('the id of a delivery', () => {
  const stream = {
    organization: 'acme',
    project: 'shop',
    endpointId: 'crm',
    addedAt: '2026-11-02T10:00:00.000Z',
    replayId: LIVE_STREAM,
  }
  const record = { webhookId: crypto.randomUUID(), type: 'form.queued' } as const

  it('is the same for the same record and stream, and differs with each part', () => {
    const ids = [
      deliveryIdOf(stream, record),
      deliveryIdOf({ ...stream, organization: 'beta' }, record),
      deliveryIdOf({ ...stream, project: 'blog' }, record),
      deliveryIdOf({ ...stream, endpointId: 'crm-2' }, record),
      deliveryIdOf({ ...stream, addedAt: '2026-11-02T10:00:00.001Z' }, record),
      deliveryIdOf({ ...stream, replayId: crypto.randomUUID() }, record),
      deliveryIdOf(stream, { ...record, type: 'form.expired' }),
      deliveryIdOf(stream, { ...record, webhookId: crypto.randomUUID() }),
    ]
    expect(new Set(ids).size).toBe(ids.length)
    expect(deliveryIdOf({ ...stream, addedAt: '2026-11-02T10:00:00Z' }, record)).toBe(ids[0])
  })
})
