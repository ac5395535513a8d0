import { describe, expect, it } from 'vitest'
import { eventually, keyNamed } from '@nextvisit/testing/black-box'
import { type ApiAnswer, call, callerOf, errorOf, UUID_V5 } from './call.ts'
import { settledUser } from './settled-user.ts'

const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
type Definitions = readonly { readonly slug: string; readonly name: string }[]

const isThere = ({ status }: ApiAnswer) => status === 200
const hasThreeTraits = ({ body }: ApiAnswer) => (body['uniqueTraits'] as { count: number }).count === 3

/** Tests decisions.md, Beyond the document: the read routes. */
export function describeReads(): void {
  const shop = callerOf('SHOP_ADMIN_P')
  const registries = callerOf('REGISTRIES_ADMIN_P')

  describe('GET /v2/admin/users/{userName}, or ?userName=', () => {
    it('shows exactly the decided members', async () => {
      await shop.identify({
        userName: 'read',
        userAttributes: { $set: { plan: 'pro' } },
        $deviceInfo: { $countryCode: 'de', $deviceOs: 'iOS' },
      })
      await shop.track({ userName: 'read', eventName: 'Was Read' })
      await settledUser(shop, 'read')
      const { body } = await shop.readUser('read')
      expect(body).toEqual({
        userId: expect.stringMatching(UUID_V5),
        userName: 'read',
        traits: { plan: 'pro' },
        country: 'DE',
        device: { $deviceOs: 'iOS' },
        firstSeenAt: expect.stringMatching(INSTANT),
        lastSeenAt: expect.stringMatching(INSTANT),
        events: {
          was_read: { count: 1, firstAt: expect.stringMatching(INSTANT), lastAt: expect.stringMatching(INSTANT) },
        },
        segments: [],
        waitingForms: [],
      })
      expect(body['userId']).toBe((await shop.identify({ userName: 'read' })).body['userId'])
    })

    it.each([
      'ada@example.org',
      'a b+c',
      'a/b',
      '../x',
      '.',
      '..',
      '%41',
      '100%',
      'q?x=1&y',
      '#',
      'Ада 🎉',
      ' padded ',
      '__proto__',
      'constructor',
      'a;b,c',
      '\\',
      '\'"<>',
      'x'.repeat(255),
      '🎉'.repeat(255),
    ])('finds %j in both forms', async (userName) => {
      await shop.identify({ userName })
      const byQuery = `/v2/admin/users?userName=${encodeURIComponent(userName)}`
      expect((await eventually(() => shop.get(byQuery), isThere, 10_000)).body['userName']).toBe(userName)
      // Clients remove a path segment of dots before they send the request.
      const inPath = /^\.+$/.test(userName) ? byQuery : `/v2/admin/users/${encodeURIComponent(userName)}`
      expect((await shop.get(inPath)).body['userName']).toBe(userName)
    })

    it.each([
      '/v2/admin/users/nobody',
      '/v2/admin/users?userName=nobody',
      '/v2/admin/users/READ',
      '/v2/admin/users/read%20',
    ])('%s: 404 User not found', async (path) => {
      expect(await shop.get(path)).toMatchObject(errorOf(404, 'User not found'))
    })

    it.each([
      '/v2/admin/users',
      '/v2/admin/users?userName=',
      '/v2/admin/users?username=read',
      '/v2/admin/users/%00',
      `/v2/admin/users/${'x'.repeat(256)}`,
    ])('%s: 400', async (path) => {
      expect((await shop.get(path)).status).toBe(400)
    })

    it('HEAD answers without a body', async () => {
      expect(
        await call({ method: 'HEAD', path: '/v2/admin/users/read', headers: ['x-api-key', keyNamed('SHOP_ADMIN_P')] }),
      ).toMatchObject({ status: 200, text: '' })
    })
  })

  describe('GET /v2/admin/users/{userName}/forms', () => {
    const forms = callerOf('FORMS_ADMIN_P', 'FORMS_SDK_P')
    const formsOf = (userName: string) => forms.get(`/v2/admin/users/${encodeURIComponent(userName)}/forms`)

    const decisionOn = async (userName: string, formId: string) => {
      const { body } = await formsOf(userName)
      return (body['forms'] as { formId: string; gates: object[] }[]).find((form) => form.formId === formId)
    }

    it('shows the property of the event that did not match the trigger', async () => {
      await forms.identify({ userName: 'why/where' })
      const order = { userName: 'why/where', eventName: 'Ordered', properties: { cart: { total: 40 } } }
      const { requestId } = (await forms.track(order)).body
      const leaf = { property: 'cart.total', atLeast: 100 }
      const where = { all: [leaf, { not: { property: 'phone', exists: true } }] }
      expect(await decisionOn('why/where', 'large-order')).toMatchObject({
        decision: 'not-queued',
        reason: 'properties-differ',
        requestId,
        trigger: { event: 'ordered', where },
        gates: [{ gate: 'where', passed: false, compared: { leaf, negated: false, actual: 40 } }],
      })
    })

    it('shows the decision on the last event, with its record id, and the queue', async () => {
      const { userId } = (await forms.identify({ userName: 'why/forms' })).body
      const { requestId } = (await forms.track({ userName: 'why/forms', eventName: 'One Form' })).body
      expect(await decisionOn('why/forms', 'one')).toEqual({
        formId: 'one',
        decision: 'queued',
        at: expect.stringMatching(INSTANT),
        requestId,
        trigger: { event: 'one_form' },
        catalogRevision: expect.any(Number),
        gates: ['live', 'audience', 'sample', 'repeat', 'cooldown', 'slot'].map((gate) => ({
          gate,
          passed: true,
          compared: expect.any(Object),
        })),
      })
      const queue = [{ formId: 'one', state: 'waiting', requestId, deliveredAt: null }]
      expect(await formsOf('why/forms')).toMatchObject({ status: 200, body: { userId, userName: 'why/forms', queue } })

      const again = (await forms.track({ userName: 'why/forms', eventName: 'One Form' })).body['requestId']
      expect(await decisionOn('why/forms', 'one')).toMatchObject({
        decision: 'not-queued',
        reason: 'already-waiting',
        requestId: again,
      })
      expect((await formsOf('why/forms')).body['queue']).toMatchObject([{ formId: 'one', requestId }])
    })

    it('names the failed condition of the audience and the actual value', async () => {
      await forms.identify({ userName: 'why-not', $deviceInfo: { $countryCode: 'FR' } })
      await forms.track({ userName: 'why-not', eventName: 'Bought' })
      const germans = await decisionOn('why-not', 'germans')
      expect(germans).toMatchObject({ decision: 'not-queued', reason: 'not-in-audience' })
      const compared = { leaf: { country: 'DE' }, negated: false, actual: 'FR' }
      expect(germans?.gates.slice(1)).toEqual([{ gate: 'audience', passed: false, compared }])
    })

    it('shows no forms for a user never evaluated, and 404 for a user never identified', async () => {
      await forms.identify({ userName: 'why-none' })
      expect((await formsOf('why-none')).body).toMatchObject({ forms: [], queue: [] })
      expect(await formsOf('nobody')).toMatchObject(errorOf(404, 'User not found'))
    })
  })

  describe('GET /v2/admin/usage', () => {
    it("shows this month's counters and the plan's limits; no limit is absent", async () => {
      await registries.identify({ userName: 'usage' })
      const { status, body } = await registries.get('/v2/admin/usage')
      expect(status).toBe(200)
      expect(body).toEqual({
        month: new Date().toISOString().slice(0, 7),
        ...Object.fromEntries(
          ['events', 'monthlyActiveUsers', 'uniqueEvents', 'uniqueTraits'].map((name) => [
            name,
            { count: expect.any(Number), limit: null },
          ]),
        ),
      })
    })

    it('counts everything that was answered before', async () => {
      const { identify, track, get } = registries
      await identify({ userName: 'counted' })
      const readCount = async () => ((await get('/v2/admin/usage')).body['events'] as { count: number }).count
      const before = await readCount()
      for (let sent = 1; sent <= 5; sent += 1) {
        expect((await track({ userName: 'counted', eventName: 'a' })).status).toBe(202)
        expect(await readCount()).toBe(before + sent)
      }
    })

    it('counts users and names once', async () => {
      const twin = callerOf('TRAITS_IN_ORDER_ADMIN_P')
      const { body } = await eventually(() => twin.get('/v2/admin/usage'), hasThreeTraits, 10_000)
      expect(body).toMatchObject({
        uniqueTraits: { count: 3, limit: 3 },
        monthlyActiveUsers: { count: 3, limit: null },
      })
    })
  })

  describe('GET /v2/admin/traits and /v2/admin/events: by slug, limit and after', () => {
    it.each([
      ['traits', ['__proto__', 'a', 'b', 'c', 'ß', '🎉']],
      ['events', ['a', 'b', 'c', 'd', 'proto', 'ß']],
    ] as const)('%s in pages', async (kind, slugs) => {
      await registries.identify({ userName: 'names' })
      if (kind === 'traits') {
        const set = slugs
          .map((slug) => `${JSON.stringify(slug)}:1`)
          .toReversed()
          .join(',')
        await registries.identify(`{"userName":"names","userAttributes":{"$set":{${set},"email":"e"}}}`)
      } else
        for (const name of ['C', 'B ', '__proto__', 'a', 'ß', 'd!', 'b'])
          await registries.track({ userName: 'names', eventName: name })
      const page = async (query: string) => {
        const { status, body } = await registries.get(`/v2/admin/${kind}${query}`)
        expect(status).toBe(200)
        return { slugs: (body[kind] as Definitions).map(({ slug }) => slug), next: body['next'] as string | null }
      }
      await eventually(
        () => page(''),
        (first) => first.slugs.length === slugs.length,
        10_000,
      )
      expect(await page('')).toEqual({ slugs: [...slugs], next: null })
      expect(await page('?limit=1000')).toEqual({ slugs: [...slugs], next: null })
      expect(await page(`?limit=${slugs.length}`)).toEqual({ slugs: [...slugs], next: null })
      const seen: string[] = []
      for (let after: string | null = ''; after !== null; ) {
        const { slugs: some, next } = await page(`?limit=2&after=${encodeURIComponent(after)}`)
        expect(some).toHaveLength(2)
        seen.push(...some)
        after = next
      }
      expect(seen).toEqual([...slugs])
      expect(await page('?after=%F0%9F%8F%81%F0%9F%8F%81')).toMatchObject({ next: null })
    })

    it('an event shows the name of the earliest record', async () => {
      const { body } = await registries.get('/v2/admin/events')
      expect((body['events'] as Definitions).map(({ slug, name }) => [slug, name])).toContainEqual(['b', 'B '])
    })

    it.each(['0', '1001', '-1', '1.5', 'x', '', '1e2', ' 5', '%00'])('limit=%s: 400', async (limit) => {
      for (const kind of ['traits', 'events'])
        expect(
          await registries.get(`/v2/admin/${kind}?limit=${encodeURIComponent(decodeURIComponent(limit))}`),
        ).toMatchObject(errorOf(400, expect.stringContaining('limit')))
    })

    it('after with U+0000: 400', async () => {
      expect((await registries.get('/v2/admin/traits?after=%00')).status).toBe(400)
    })
  })
}
