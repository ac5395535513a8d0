import { beforeAll, describe, expect, it } from 'vitest'
import { keyNamed } from '@nextvisit/testing/black-box'
import { callerOf } from './call.ts'
import { applyWorkspaceFile, baseAddress, runNextvisit } from './product.ts'

const NPS = `
              languages: [en, de]
              title: { en: One question, de: Eine Frage }
              elements:
                - { id: score, type: nps, label: { en: How likely?, de: Wie wahrscheinlich? }, required: true }
                - { id: reason, type: text, label: { en: Why?, de: Warum? }, showIf: { answer: score, atMost: 6 } }`

/** Returns the workspace of this table. `content`: that of its form; empty: the form has none. */
const workspace = ({ content = NPS, priority = 1 } = {}) => `
organizations:
  - id: worded
    projects:
      - id: shop
        rateLimits: { admin: { perSecond: 5000, burst: 10000 }, sdk: { perSecond: 5000, burst: 10000 } }
        keys:
          - { name: backend, kind: admin, environment: P, secret: $WORDED_ADMIN_P }
          - { name: web, kind: sdk, environment: P, secret: $WORDED_SDK_P }
        forms:
          - id: nps
            priority: ${priority}
            triggers: [{ event: bought }]
            frequency: { repeat: always }
            ${content && `content: ${content}`}
          - { id: bare, triggers: [{ event: asked }], frequency: { repeat: always } }
          - id: rating
            triggers: [{ event: rated }]
            frequency: { until: answered }
            content: { elements: [{ id: score, type: nps }] }
          - { id: follow-up, triggers: [{ answered: { form: rating, where: { answer: score, atMost: 6 } } }] }
`

const ENGLISH = {
  title: 'One question',
  elements: [
    { id: 'score', type: 'nps', label: 'How likely?', required: true },
    {
      id: 'reason',
      type: 'text',
      label: 'Why?',
      required: false,
      maxLength: 1000,
      showIf: { answer: 'score', atMost: 6 },
    },
  ],
}
const GERMAN = {
  title: 'Eine Frage',
  elements: [
    { ...ENGLISH.elements[0], label: 'Wie wahrscheinlich?' },
    { ...ENGLISH.elements[1], label: 'Warum?' },
  ],
}
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** A visit under an `Idempotency-Key`. */
async function keyedVisit(key: string, userName: string) {
  const response = await fetch(new URL('/v2/sdk/identify-user', baseAddress()), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': keyNamed('WORDED_SDK_P'), 'idempotency-key': key },
    body: JSON.stringify({ userName, $deviceInfo: { $userLanguage: 'de' } }),
  })
  return { isRepeat: response.headers.get('idempotent-replayed') === 'true', text: await response.text() }
}

/** Tests forms.md, Content: the content of a form, and its delivery with the answer to a visit. */
export function describeFormContent(): void {
  const { identify, track, visit, get, giveAnswers } = callerOf('WORDED_ADMIN_P', 'WORDED_SDK_P')
  const buy = async (userName: string) => {
    expect((await track({ userName, eventName: 'Bought' })).body).toMatchObject({ formsQueued: 1 })
  }

  describe('the content of a form', () => {
    beforeAll(() => applyWorkspaceFile(workspace()), 120_000)

    it('comes with the visit, in the language of the user: $userLanguage of this visit', async () => {
      await identify({ userName: 'swiss', $deviceInfo: { $deviceLanguage: 'en-GB' } })
      await buy('swiss')
      const { body } = await visit({ userName: 'swiss', $deviceInfo: { $userLanguage: 'de-CH' } })
      const { queue } = (await get('/v2/admin/users/swiss/forms')).body as { queue: { queuedId: string }[] }
      expect(body).toMatchObject({ nextFeedbackId: 'nps' })
      expect(body['nextFeedback']).toEqual({
        offerId: queue[0]?.queuedId,
        formId: 'nps',
        revision: 1,
        language: 'de',
        content: GERMAN,
      })
    })

    it.each([
      ['that of an identify before', { $userLanguage: 'DE' }, {}, 'de', GERMAN],
      [
        'that of the device, if the form lacks that of the user',
        {},
        { $userLanguage: 'fr', $deviceLanguage: 'de' },
        'de',
        GERMAN,
      ],
      ['the default for another one', { $userLanguage: 'fr' }, {}, 'en', ENGLISH],
      ['the default for none', {}, {}, 'en', ENGLISH],
    ])('is in %s', async (which, before, now, language, content) => {
      await identify({ userName: which, $deviceInfo: before })
      await buy(which)
      const { body } = await visit({ userName: which, $deviceInfo: now })
      expect(body['nextFeedback']).toMatchObject({ language, content })
    })

    it('is absent if the form has none, and so is its language', async () => {
      await identify({ userName: 'bare', $deviceInfo: { $userLanguage: 'de' } })
      await track({ userName: 'bare', eventName: 'Asked' })
      const { body } = await visit({ userName: 'bare' })
      expect(body).toMatchObject({ nextFeedbackId: 'bare' })
      expect(body['nextFeedback']).toEqual({ offerId: expect.stringMatching(UUID), formId: 'bare' })
    })

    it('is never in the answer to an admin identify, which leaves it to the visit', async () => {
      await identify({ userName: 'admin' })
      await buy('admin')
      expect(Object.keys((await identify({ userName: 'admin' })).body).toSorted()).toEqual(['message', 'userId'])
      expect((await visit({ userName: 'admin' })).body['nextFeedback']).toMatchObject({ content: ENGLISH })
      expect((await visit({ userName: 'admin' })).body).not.toHaveProperty('nextFeedback')
    })

    it('is answered once, on one device, and the answer sets off another form', async () => {
      const userName = 'rating'
      const rate = async () => (await track({ userName, eventName: 'Rated' })).body['formsQueued']
      const visitOn = async (device: string) =>
        (await visit({ userName, $deviceInfo: { $deviceOs: device } })).body['nextFeedback'] as
          | { readonly offerId: string; readonly formId: string; readonly revision: number }
          | undefined
      await identify({ userName })
      expect(await rate()).toBe(1)
      const offer = await visitOn('iOS')
      expect(offer).toMatchObject({ formId: 'rating' })
      const { offerId, formId, revision } = offer ?? {}
      const given = { userName, offerId, formId, revision, answers: { score: 4 }, status: 'finished' }
      const { status, body } = await giveAnswers(given)
      expect(status).toBe(202)

      expect(await visitOn('iOS')).toMatchObject({ formId: 'follow-up' })
      expect(await rate(), 'never again').toBe(0)
      expect(await visitOn('Android')).toBeUndefined()

      const why = await runNextvisit('why', '--project', 'worded/shop', '--user', userName)
      expect(why).toContain('The user finished it at ')
      expect(why).toContain('until the user has answered the form; finished ')
      expect(why).toContain(`by record ${String(body['requestId'])} (form rating finished where answer score atMost 6)`)
      expect(why).toContain('answer score atMost 6; the user has 4')
    })

    it('of the latest revision comes after an edit; repeats get the bytes of the first answer', async () => {
      for (const userName of ['before', 'after']) await identify({ userName })
      await buy('before')
      await buy('after')
      const first = await keyedVisit('visit-1', 'before')
      expect(JSON.parse(first.text)).toMatchObject({ nextFeedback: { revision: 1, language: 'de', content: GERMAN } })

      // Another change of the form leaves the revision of its content alone.
      await applyWorkspaceFile(workspace({ priority: 2 }))
      expect(await keyedVisit('visit-1', 'before')).toEqual({ isRepeat: true, text: first.text })
      await applyWorkspaceFile(
        workspace({ priority: 2, content: `${NPS}\n              thanks: { en: Thanks, de: Danke }` }),
      )
      expect(await keyedVisit('visit-1', 'before')).toEqual({ isRepeat: true, text: first.text })

      const { body } = await visit({ userName: 'after', $deviceInfo: { $userLanguage: 'de' } })
      expect(body['nextFeedback']).toMatchObject({ revision: 3, content: { ...GERMAN, thanks: 'Danke' } })
    })

    it('is no longer delivered once the file has none', async () => {
      await identify({ userName: 'removed' })
      await buy('removed')
      await applyWorkspaceFile(workspace({ content: '' }))
      const { body } = await visit({ userName: 'removed' })
      expect(body['nextFeedback']).toEqual({ offerId: expect.stringMatching(UUID), formId: 'nps' })
      const repeat = await keyedVisit('visit-1', 'before')
      expect(JSON.parse(repeat.text), 'the answer was given').toMatchObject({ nextFeedback: { content: GERMAN } })
    })
  })
}
