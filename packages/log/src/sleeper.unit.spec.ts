import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { createSleeper } from './sleeper.ts'

describe('a sleeper', () => {
  it('sleeps for the given time', async () => {
    await expect(createSleeper().sleep(1)).resolves.toBeUndefined()
  })

  it('wakes early when another caller wakes it', async () => {
    const { sleep, wake } = createSleeper()
    const sleeping = sleep(Infinity)
    wake()
    await expect(sleeping).resolves.toBeUndefined()
  })

  it('wakes every caller that sleeps', async () => {
    const { sleep, wake } = createSleeper()
    const sleeping = [sleep(Infinity), sleep(Infinity)]
    wake()
    await expect(Promise.all(sleeping)).resolves.toEqual([undefined, undefined])
  })

  it('does not remember a wake that came while it did not sleep', async () => {
    const { sleep, wake } = createSleeper()
    wake()
    const sleeping = sleep(Infinity).then(() => 'woke')
    expect(await Promise.race([sleeping, setImmediate('sleeps')])).toBe('sleeps')
  })

  it('wakes when its signal is aborted, and never sleeps afterwards', async () => {
    const stopping = new AbortController()
    const { sleep } = createSleeper(stopping.signal)
    const sleeping = sleep(Infinity)
    stopping.abort()
    await expect(sleeping).resolves.toBeUndefined()
    await expect(sleep(Infinity)).resolves.toBeUndefined()
  })
})
