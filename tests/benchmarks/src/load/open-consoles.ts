import { setTimeout as sleep } from 'node:timers/promises'
import type { ThrowAwayStack } from '@nextvisit/testing/black-box'

/** What the pages ask again and again while they are open. A page shows one screen; here each shows all of them. */
const SCREENS = ['overview', 'consumers', 'forms/bench/shop', 'forms/bench/shop/nps', 'segments/bench/shop']
/** As the pages do. */
const AGAIN_AFTER_MS = 5_000

export interface OpenConsoles {
  /** Resolves to how many answers there were. Rejects where the console did not answer. */
  readonly close: () => Promise<number>
}

/** Signs this many operators in, and asks the console what their pages would ask. */
export async function openConsoles({ console: own }: ThrowAwayStack, people: number): Promise<OpenConsoles> {
  if (!own) throw new Error('The stack has no console')
  const { url, token } = own
  const ended = new AbortController()
  const headers = { 'content-type': 'application/json', 'x-nextvisit-console': '1', origin: new URL(url).origin }

  const lookAt = async (cookie: string, screen: string): Promise<number> => {
    let answers = 0
    while (!ended.signal.aborted) {
      const { ok, status } = await fetch(`${url}/api/${screen}`, { headers: { ...headers, cookie } })
      if (!ok) throw new Error(`The console answered ${status} for ${screen}`)
      answers += 1
      await sleep(AGAIN_AFTER_MS, undefined, { signal: ended.signal }).catch(() => undefined)
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
  const looking = names.flatMap((name) => SCREENS.map(async (screen) => lookAt(await signIn(name), screen)))
  // A rejection is seen by `close`.
  const all = Promise.all(looking)
  all.catch(() => undefined)
  return {
    close: async () => {
      ended.abort()
      return (await all).reduce((sum, answers) => sum + answers, 0)
    },
  }
}
