import { describe, expect, it } from 'vitest'
import { call, errorOf } from './call.ts'
import { sendRaw } from './send-raw.ts'

const IDENTIFY = '/v2/admin/identify-user'

/** decisions.md, Order of checks: route (404, 405 with `Allow`), before the key. */
export function describeRoutes(): void {
  describe('route: 404', () => {
    it.each([
      ['POST', '/'],
      ['GET', '/'],
      ['POST', '/v2'],
      ['POST', '/v2/admin'],
      ['POST', '/v2/admin/'],
      ['POST', '/v1/admin/identify-user'],
      ['POST', '/v2/admin/identify-users'],
      ['POST', '/v2/admin/identify-user/'],
      ['POST', '/v2/admin//identify-user'],
      ['POST', '/v2/admin/Identify-User'],
      ['POST', '/V2/admin/identify-user'],
      ['POST', '/v2/sdk/identify'],
      ['POST', '/v2/admin/identify-user/more'],
      ['GET', '/v2/admin/users/ada/nothing'],
      ['GET', '/v2/sdk/users/ada'],
      ['GET', '/internal/users/read'],
      ['GET', '/metrics'],
      ['DELETE', '/nothing'],
      ['OPTIONS', '/nothing'],
    ] as const)('%s %s, without a key', async (method, path) => {
      expect(await call({ method, path })).toMatchObject(errorOf(404))
    })

    it('is what HEAD of an unknown route answers, too', async () => {
      expect((await call({ method: 'HEAD', path: '/nothing' })).status).toBe(404)
    })
  })

  describe('route: 405 with Allow', () => {
    it.each([
      ['GET', IDENTIFY, ['POST']],
      ['PUT', IDENTIFY, ['POST']],
      ['PATCH', IDENTIFY, ['POST']],
      ['DELETE', IDENTIFY, ['POST']],
      ['OPTIONS', IDENTIFY, ['POST']],
      ['GET', '/v2/admin/track-event', ['POST']],
      ['GET', '/v2/admin/track-event?userName=ada', ['POST']],
      ['GET', '/v2/sdk/identify-user', ['POST', 'OPTIONS']],
      ['DELETE', '/v2/sdk/track-event', ['POST', 'OPTIONS']],
      ['POST', '/v2/admin/users/ada', ['GET', 'HEAD']],
      ['POST', '/v2/admin/users/ada/forms', ['GET', 'HEAD']],
      ['DELETE', '/v2/admin/users/ada', ['GET', 'HEAD']],
      ['POST', '/v2/admin/users', ['GET', 'HEAD']],
      ['POST', '/v2/admin/usage', ['GET', 'HEAD']],
      ['PUT', '/v2/admin/traits', ['GET', 'HEAD']],
      ['PUT', '/v2/admin/events', ['GET', 'HEAD']],
      ['POST', '/v2/admin/segments', ['GET', 'HEAD']],
      ['DELETE', '/v2/admin/segments/paying/users', ['GET', 'HEAD']],
    ] as const)('%s %s, without a key', async (method, path, allowed) => {
      const answer = await call({ method, path })
      expect(answer).toMatchObject(errorOf(405))
      expect(String(answer.headers['allow']).split(', ').toSorted()).toEqual([...allowed].toSorted())
    })

    it('HEAD of a POST route', async () => {
      const answer = await call({ method: 'HEAD', path: IDENTIFY })
      expect(answer).toMatchObject({ status: 405, headers: { allow: 'POST' } })
    })
  })

  describe('what Node itself refuses has the error form, too', () => {
    it.each([
      [
        '431 for headers that are too large',
        `GET /livez HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(40_000)}\r\n\r\n`,
        431,
      ],
      ['400 for what is not HTTP', 'nonsense\r\n\r\n', 400],
      ['400 for a header without a colon', 'GET /livez HTTP/1.1\r\nHost: x\r\nbroken\r\n\r\n', 400],
      [
        '400 for two lengths that differ',
        `POST ${IDENTIFY} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}`,
        400,
      ],
      [
        '400 for a length and chunks',
        `POST ${IDENTIFY} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n`,
        400,
      ],
      ['400 for HTTP/1.1 without Host', `POST ${IDENTIFY} HTTP/1.1\r\n\r\n`, 400],
      ['400 for a method that does not exist', 'NOTHING / HTTP/1.1\r\nHost: x\r\n\r\n', 400],
      ['400 for CONNECT', 'CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n', 400],
      [
        '417 for an expectation that is not 100-continue',
        `POST ${IDENTIFY} HTTP/1.1\r\nHost: x\r\nExpect: nothing\r\nContent-Length: 0\r\n\r\n`,
        417,
      ],
      ['404 for a path that is an address', 'GET http://x/nothing HTTP/1.1\r\nHost: x\r\n\r\n', 404],
      ['400 for a path that is no valid percent-encoding', 'GET /v2/admin/users/%ff HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ])('%s', async (_name, text, status) => {
      const [answer] = await sendRaw(text)
      expect(answer).toMatchObject(errorOf(status))
    })
  })

  it("X-Request-Id is the product's own, each time another, whatever the caller sends", async () => {
    const own = ['x-request-id', '018f0000-0000-7000-8000-000000000000']
    const answers = await Promise.all([1, 2].map(() => call({ method: 'GET', path: '/livez', headers: own })))
    expect(new Set([own[1], ...answers.map(({ headers }) => headers['x-request-id'])]).size).toBe(3)
  })

  it('a query changes nothing for the routes that ingest', async () => {
    expect((await call({ path: `${IDENTIFY}?userName=ada` })).status).toBe(401)
  })

  it('HTTP/1.0 needs no Host', async () => {
    expect(await sendRaw('GET /livez HTTP/1.0\r\n\r\n')).toMatchObject([{ status: 200 }])
  })

  describe('health', () => {
    it.each(['/livez', '/readyz'])('%s needs no key', async (path) => {
      expect((await call({ method: 'GET', path })).status).toBe(200)
    })
  })
}
