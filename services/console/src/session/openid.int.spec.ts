import { randomUUID } from 'node:crypto'
import { get, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { givenBrowser, openIdApp, serve } from '../../test/given-openid-console.ts'
import { givenIssuer } from '../../test/given-issuer.ts'
import { givenProvider } from '../../test/given-provider.ts'

const SECRET = 'the secret of the console'
const ACCOUNTS = {
  'ada-1': { name: 'Ada Lovelace', email: 'ada@example.com', roles: ['else', 'ops'] },
  'bob-2': { name: 'Bob', email: 'bob@example.com', roles: 'staff' },
  'eve-3': { name: 'Eve', email: 'eve@example.com' },
}
const isCallback = (address: string) => address.includes('/api/session/callback')
afterEach(() => void vi.useRealTimers())

/** Two consoles behind one address, which share their sessions; a provider and a person; what the consoles log. */
async function givenTeam(own: Parameters<typeof givenProvider>[3] & { readonly isPublic?: boolean } = {}) {
  const { isPublic = false, ...client } = own
  const person = { id: 'ada-1' }
  const lines: string[] = []
  const app = {
    keyPrefix: `${randomUUID()}:`,
    ...(!isPublic && { clientSecret: SECRET }),
    onLine: (line: string) => void lines.push(line),
  }
  let issuer = ''
  const one = await serve(async (address) => {
    issuer = await givenProvider(person, ACCOUNTS, [address], client)
    return openIdApp({ ...app, address, issuer })
  })
  const other = await serve(() => openIdApp({ ...app, address: one, issuer }))
  return { person, lines, one, other, issuer }
}

/** Sends a request to one of the consoles behind an address, as its load balancer does. */
function balanced(to: string, address: string, cookies: ReadonlyMap<string, string> = new Map()) {
  const { host, pathname, search } = new URL(address)
  const cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ')
  return new Promise<{ readonly headers: IncomingHttpHeaders; readonly body: string }>((resolve, reject) => {
    get(new URL(pathname + search, to), { headers: { host, cookie } }, (response) => {
      void text(response).then((body) => resolve({ headers: response.headers, body }), reject)
    }).on('error', reject)
  })
}

describe('the sign-in with an OpenID Connect provider', () => {
  it('signs a person in with the role and name of the provider, and returns to the page', async () => {
    const { one, lines } = await givenTeam()
    const browser = givenBrowser()
    expect(await browser.call(one, 'GET', 'session/ways')).toEqual({
      hasTokens: false,
      provider: { name: 'Staff', isAvailable: true },
      roles: { claim: 'roles', operators: ['ops'], viewers: ['staff'] },
    })
    const page = `${one}/users/demo/shop?tab=forms`
    expect(
      await browser.follow(`${one}/api/session/begin?return=${encodeURIComponent('/users/demo/shop?tab=forms')}`),
    ).toBe(page)
    expect(await browser.call(one, 'GET', 'session')).toMatchObject({
      role: 'operator',
      name: 'Ada Lovelace',
      verifiedBy: 'Staff',
    })
    const logged = lines.map((line): unknown => JSON.parse(line))
    expect(logged).toContainEqual(
      expect.objectContaining({ action: 'sign in', by: 'Ada Lovelace', isVerified: true, subject: 'ada-1' }),
    )
    expect(lines.join('')).not.toMatch(/code=|state=|eyJ|ada@example/)
  })

  it('asks the userinfo endpoint for claims that the ID token lacks, also as a public client', async () => {
    const { one, person } = await givenTeam({
      hasIdTokenClaims: false,
      isPublic: true,
      token_endpoint_auth_method: 'none',
    })
    person.id = 'bob-2'
    const browser = givenBrowser()
    await browser.follow(`${one}/api/session/begin`)
    expect(await browser.call(one, 'GET', 'session')).toMatchObject({ role: 'viewer', name: 'Bob' })
  })

  it('refuses a person without a role, who may then use another account', async () => {
    const { one, person, issuer } = await givenTeam()
    person.id = 'eve-3'
    const browser = givenBrowser()
    expect(await browser.follow(`${one}/api/session/begin?return=/live`)).toBe(`${one}/live?problem=no-role`)
    expect(await browser.call(one, 'GET', 'session')).toBeNull()
    person.id = 'ada-1'
    expect(await browser.follow(`${one}/api/session/begin`)).toBe(`${one}/?problem=no-role`)
    const way = await browser.follow(`${one}/api/session/begin?again=1`, (next) => next.startsWith(issuer))
    expect(new URL(way).searchParams.get('prompt')).toBe('login')
    // The provider would ask for the account.
    browser.cookiesOf(issuer).clear()
    expect(await browser.follow(way)).toBe(`${one}/`)
    expect(await browser.call(one, 'GET', 'session')).toMatchObject({ name: 'Ada Lovelace' })
  })

  it('opens a new session at each sign-in, and ignores a planted one', async () => {
    const { one } = await givenTeam()
    const browser = givenBrowser()
    const name = `nextvisit_console_${new URL(one).port}`
    await browser.follow(`${one}/`)
    browser.cookiesOf(one).set(name, 'p'.repeat(43))
    await browser.follow(`${one}/api/session/begin`)
    const first = browser.cookiesOf(one).get(name)
    await browser.follow(`${one}/api/session/begin`)
    const second = browser.cookiesOf(one).get(name)
    expect(new Set(['p'.repeat(43), first, second]).size).toBe(3)
    expect(await browser.call(one, 'GET', 'session')).toMatchObject({ name: 'Ada Lovelace' })
    // The second sign-in has ended the first session.
    browser.cookiesOf(one).set(name, first ?? '')
    expect(await browser.call(one, 'GET', 'session')).toBeNull()
  })

  it('refuses a way back that this browser has not begun, or has gone before', async () => {
    const { one } = await givenTeam()
    const [ada, eve] = [givenBrowser(), givenBrowser()]
    const way = await ada.follow(`${one}/api/session/begin`, isCallback)
    expect(await eve.follow(way)).toBe(`${one}/?problem=expired`)
    await eve.follow(`${one}/api/session/begin`, isCallback)
    expect(await eve.follow(way)).toBe(`${one}/?problem=expired`)
    const begun = new Map(ada.cookiesOf(one))
    expect(await ada.follow(way)).toBe(`${one}/`)
    expect(await ada.follow(way)).toBe(`${one}/?problem=expired`)
    // With the cookie of the begun sign-in, the code is still used up.
    for (const [name, value] of begun) ada.cookiesOf(one).set(name, value)
    expect(await ada.follow(way)).toBe(`${one}/?problem=refused`)
  })

  it('returns to no other site, even if the address or the cookie says so', async () => {
    const { one } = await givenTeam()
    const browser = givenBrowser()
    const evil = encodeURIComponent('https://evil.example/')
    expect(await browser.follow(`${one}/api/session/begin?return=${evil}`)).toBe(`${one}/`)
    const way = await browser.follow(`${one}/api/session/begin?return=/live`, isCallback)
    const jar = browser.cookiesOf(one)
    const [name = ''] = [...jar.keys()].filter((given) => given.includes('sign_in'))
    const begun = Buffer.from(jar.get(name) ?? '', 'base64url').toString()
    jar.set(name, Buffer.from(begun.replace(`${one}/live`, 'https://evil.example/')).toString('base64url'))
    expect(await browser.follow(way)).toBe(`${one}/?problem=expired`)
  })

  it('begins at one console and ends at another, and a sign-out at one ends the session at both', async () => {
    const { one, other } = await givenTeam()
    const browser = givenBrowser()
    const way = await browser.follow(`${one}/api/session/begin?return=/live`, isCallback)
    const { headers } = await balanced(other, way, browser.cookiesOf(one))
    expect(headers.location).toBe(`${one}/live`)
    for (const line of headers['set-cookie'] ?? []) browser.keep(one, line)
    const readAt = async (to: string) =>
      JSON.parse((await balanced(to, `${one}/api/session`, browser.cookiesOf(one))).body) as unknown
    const session = { name: 'Ada Lovelace', verifiedBy: 'Staff' }
    expect([await readAt(one), await readAt(other)]).toMatchObject([session, session])
    const cookies = new Map(browser.cookiesOf(one))
    const { leaveTo } = (await browser.call(one, 'DELETE', 'session')) as { readonly leaveTo: string }
    expect(JSON.parse((await balanced(other, `${one}/api/session`, cookies)).body)).toBeNull()
    const leaving = new URL(leaveTo)
    expect(leaving.pathname).toBe('/session/end')
    expect(Object.fromEntries(leaving.searchParams)).toEqual({
      client_id: 'console',
      post_logout_redirect_uri: `${one}/`,
    })
  })
})

/** A console of an issuer, and a browser that signs in there. */
async function givenConsole(own: { readonly redisUrl?: string; readonly clientSecret?: string } = {}) {
  const issuer = await givenIssuer()
  const lines: string[] = []
  const one = await serve((address) =>
    openIdApp({ address, issuer: issuer.address, onLine: (line) => lines.push(line), ...own }),
  )
  const browser = givenBrowser()
  return { issuer, lines, one, browser, signIn: () => browser.follow(`${one}/api/session/begin`) }
}

const seconds = () => Math.floor(Date.now() / 1_000)

describe('an issuer that cannot be trusted', () => {
  it('signs people in while its answers are right, also after its key has changed', async () => {
    const { issuer, one, browser, signIn } = await givenConsole()
    expect(await signIn()).toBe(`${one}/`)
    expect(await browser.call(one, 'GET', 'session')).toMatchObject({ role: 'operator', name: 'ada-1' })
    issuer.sign = issuer.unknownKey.sign
    issuer.keys = [issuer.unknownKey.jwk]
    expect(await signIn()).toBe(`${one}/?problem=refused`)
    // A minute after the keys were last read, an unknown key makes the console read them again.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })
    expect(await signIn()).toBe(`${one}/`)
  })

  it.each<[string, (issuer: Awaited<ReturnType<typeof givenIssuer>>) => void]>([
    ['an unknown key', (issuer) => void (issuer.sign = issuer.unknownKey.sign)],
    ['no signature', (issuer) => void (issuer.sign = issuer.unsigned)],
    ['another nonce', (issuer) => void (issuer.claims = { nonce: 'another' })],
    ['no nonce', (issuer) => void (issuer.claims = { nonce: undefined })],
    ['another audience', (issuer) => void (issuer.claims = { aud: 'another' })],
    ['another issuer', (issuer) => void (issuer.claims = { iss: 'https://evil.example' })],
    ['a time in the past', (issuer) => void (issuer.claims = { exp: seconds() - 40 })],
    ['no subject', (issuer) => void (issuer.claims = { sub: undefined })],
  ])('signs nobody in with an ID token with %s', async (_, falsify) => {
    const { issuer, lines, one, browser, signIn } = await givenConsole()
    falsify(issuer)
    expect(await signIn()).toBe(`${one}/?problem=refused`)
    expect(await browser.call(one, 'GET', 'session')).toBeNull()
    expect(lines.join('')).toContain('a sign-in with the identity provider failed')
    expect(lines.join('')).not.toMatch(/eyJ|an access token|ada-1/)
  })

  it.each([
    [
      ['client_secret_basic', 'client_secret_post'],
      `Basic ${Buffer.from('console:a+secret').toString('base64')}`,
      null,
    ],
    [['client_secret_post'], undefined, 'a secret'],
  ])('gets the secret of the client in the header, or in the body: %o', async (methods, header, member) => {
    const { issuer, one, signIn } = await givenConsole({ clientSecret: 'a secret' })
    issuer.metadata = { token_endpoint_auth_methods_supported: methods }
    expect(await signIn()).toBe(`${one}/`)
    const [{ authorization, body } = {}] = issuer.tokenRequests
    expect([authorization, body?.get('client_secret')]).toEqual([header, member])
  })

  it('asks the provider nothing for a sign-in that no console has begun', async () => {
    const { issuer, lines, one, browser, signIn } = await givenConsole({ clientSecret: 'a secret' })
    await browser.follow(`${one}/`)
    const checks = { state: 'a state', nonce: 'a nonce', codeVerifier: 'a verifier' }
    const begun = JSON.stringify({ checks, returnTo: `${one}/`, untilMs: Date.now() + 60_000 })
    for (const forged of [JSON.stringify({ ...checks, returnTo: `${one}/` }), begun, `${'A'.repeat(43)}.${begun}`]) {
      const cookie = Buffer.from(forged).toString('base64url')
      browser.cookiesOf(one).set(`nextvisit_console_sign_in_${new URL(one).port}`, cookie)
      const way = `${one}/api/session/callback?state=a%20state&code=x`
      expect(await browser.follow(way)).toBe(`${one}/?problem=expired`)
    }
    expect([issuer.tokenRequests, lines]).toEqual([[], []])
    expect(await signIn()).toBe(`${one}/`)
  })

  it('is asked for ten failed sign-ins of an address in a minute, each with a line in the log', async () => {
    const { issuer, lines, one, signIn } = await givenConsole()
    issuer.claims = { nonce: 'another' }
    const ends: string[] = []
    for (let count = 0; count < 12; count += 1) ends.push(new URL(await signIn()).search)
    expect(ends.slice(9)).toEqual(['?problem=refused', '?problem=too-many', '?problem=too-many'])
    expect([issuer.tokenRequests.length, lines.length]).toEqual([10, 10])
    issuer.claims = {}
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })
    expect(await signIn()).toBe(`${one}/`)
  })

  it.each([
    ['access_denied', 'access_denied'],
    ['Ring%20555-0100%20now', 'unknown'],
    ['a'.repeat(41), 'unknown'],
  ])('gives the log the error %s as %s', async (error, logged) => {
    const { lines, one, browser } = await givenConsole()
    const way = await browser.follow(`${one}/api/session/begin`, isCallback)
    const state = new URL(way).searchParams.get('state')
    const end = await browser.follow(`${one}/api/session/callback?state=${state}&error=${error}`)
    expect(end).toBe(`${one}/?problem=refused`)
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([{ because: logged }])
  })

  it('tolerates clocks that differ by half a minute', async () => {
    const { issuer, one, signIn } = await givenConsole()
    issuer.claims = { iat: seconds() + 20, exp: seconds() - 20 }
    expect(await signIn()).toBe(`${one}/`)
  })

  it('gives no role without the claim', async () => {
    const { issuer, one, signIn } = await givenConsole()
    issuer.claims = { roles: undefined }
    expect(await signIn()).toBe(`${one}/?problem=no-role`)
  })

  it('is not used if its metadata names another issuer', async () => {
    const { issuer, one, browser, signIn } = await givenConsole()
    issuer.metadata = { issuer: 'https://evil.example' }
    expect(await browser.call(one, 'GET', 'session/ways')).toMatchObject({ provider: { isAvailable: false } })
    expect(await signIn()).toBe(`${one}/?problem=unavailable`)
  })

  it('may be down at the start, and works once it answers', async () => {
    const { issuer, one, browser, signIn } = await givenConsole()
    issuer.isDown = true
    expect(await browser.call(one, 'GET', 'session/ways')).toMatchObject({ provider: { isAvailable: false } })
    expect(await signIn()).toBe(`${one}/?problem=unavailable`)
    issuer.isDown = false
    // The failure is remembered for five seconds.
    await expect.poll(signIn, { timeout: 20_000, interval: 500 }).toBe(`${one}/`)
  })

  it('signs nobody in while Redis does not answer', async () => {
    const { one, browser, signIn } = await givenConsole({ redisUrl: 'redis://127.0.0.1:1' })
    expect(await signIn()).toBe(`${one}/?problem=no-sessions`)
    expect(await browser.call(one, 'GET', 'session')).toBeNull()
    const name = `nextvisit_console_${new URL(one).port}`
    browser.cookiesOf(one).set(name, 'p'.repeat(43))
    expect(await browser.call(one, 'GET', 'session')).toMatchObject({ error: 'no-sessions' })
    // A sign-out: the browser forgets the session.
    expect(await browser.call(one, 'DELETE', 'session')).toMatchObject({ error: 'no-sessions' })
    expect(browser.cookiesOf(one).has(name)).toBe(false)
  })
})
