import { afterEach, expect, it, vi } from 'vitest'
import { createSend } from './send.ts'

afterEach(() => vi.unstubAllGlobals())

it.each([
  ['text of one byte per character', 'x', 59_000, true],
  ['the same text, longer', 'x', 60_001, false],
  ['text of three bytes per character', '漢', 19_000, true],
  ['the same text, longer than a browser allows', '漢', 20_001, false],
])('a request outlives its page if the browser allows its size: %s', async (_name, character, count, keepalive) => {
  const requests: RequestInit[] = []
  vi.stubGlobal('fetch', async (_url: string, request: RequestInit) => {
    requests.push(request)
    return Response.json({ message: 'ok' })
  })
  const body = character.repeat(count)
  await createSend(
    'https://nextvisit.example.com',
    'nv_sdk_P_x',
  )({ route: 'identify-user', body, key: 'k', keepalive: true })
  expect(requests).toMatchObject([{ keepalive }])
})
