import { setTimeout as sleep } from 'node:timers/promises'
import type { ThrowAwayStack } from '@nextvisit/testing/black-box'

/** Polling intervals in ms by request of the pages. A page shows one screen; here each polls for all of them. */
const SCREENS: Readonly<Record<string, number>> = {
  overview: 5_000,
  live: 1_000,
  'forms/bench/shop': 10_000,
  'forms/bench/shop/nps': 10_000,
  'segments/bench/shop': 10_000,
  'registry/bench/shop/usage': 15_000,
  consumers: 5_000,
}

interface OpenConsoles {
  /** Stops polling. Resolves to the number of answers; rejects if the console did not answer. */
  readonly close: () => Promise<number>
}

/** Signs this many operators in, and sends the console the requests of their pages. */
export async function openConsoles({ console: own }: ThrowAwayStack, people: number): Promise<OpenConsoles> {
  if (!own) throw new Error('The stack has no console')
  const { url, token } = own
  const ended = new AbortController()
  const headers = { 'content-type': 'application/json', 'x-nextvisit-console': '1', origin: new URL(url).origin }

  const lookAt = async (cookie: string, screen: string, againAfterMs: number): Promise<number> => {
    let answers = 0
    while (!ended.signal.aborted) {
      const { ok, status } = await fetch(`${url}/api/${screen}`, { headers: { ...headers, cookie } })
      if (!ok) throw new Error(`The console answered ${status} for ${screen}`)
      answers += 1
      await sleep(againAfterMs, undefined, { signal: ended.signal }).catch(() => undefined)
    }
    return answers
  }

  const signIn = async (name: string): Promise<string> => {
    const body = JSON.stringify({ token, name })
    const response = await fetch(`${url}/api/session`, { method: 'POST', headers, body })
    const [cookie] = response.headers.getSetCookie()
    if (!response.ok || cookie === undefined) throw new Error(`Signing in was answered ${response.status}`)
    return cookie.split(';', 1)[0] ?? ''
  }

  const names = Array.from({ length: people }, (_, index) => `operator ${index + 1}`)
  const looking = names.flatMap((name) =>
    Object.entries(SCREENS).map(async ([screen, againAfterMs]) => lookAt(await signIn(name), screen, againAfterMs)),
  )
  // `close` reports a rejection.
  const all = Promise.all(looking)
  all.catch(() => undefined)
  return {
    close: async () => {
      ended.abort()
      return (await all).reduce((sum, answers) => sum + answers, 0)
    },
  }
}
