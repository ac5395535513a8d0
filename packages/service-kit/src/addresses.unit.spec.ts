import { describe, expect, it, onTestFinished } from 'vitest'
import { boundLookUps, createAddresses, isServiceAddress, type LookUp } from './addresses.ts'

const NAME = 'dns+http://metering:9100'
const EVERY_MS = 5
const SOON = { timeout: 20_000 }

/** Addresses whose look-ups the test answers: by the list, by an error while it is undefined, or never while it is a promise. */
function givenAddresses(entries: readonly string[], first: readonly string[] | undefined = []) {
  const dns: { answer: readonly string[] | undefined | Promise<never>; asked: string[] } = { answer: first, asked: [] }
  const lookUp: LookUp = async (hostname) => {
    dns.asked.push(hostname)
    const answer = await dns.answer
    if (!answer || answer.length === 0) throw new Error('getaddrinfo ENOTFOUND')
    return answer
  }
  const addresses = createAddresses(entries, { lookUpEveryMs: EVERY_MS, lookUp })
  onTestFinished(addresses.stop)
  const urls = () => addresses.current().toSorted()
  return { addresses, dns, urls }
}

const never = () => new Promise<never>(() => {})
/** Resolves after some more look-ups. */
const looksUpAgain = async ({ asked }: { readonly asked: readonly string[] }) => {
  const before = asked.length
  await expect.poll(() => asked.length, SOON).toBeGreaterThan(before + 1)
}

describe('the addresses of a service', () => {
  it('are the listed ones, without a look-up', async () => {
    const { addresses, dns } = givenAddresses(['http://one:1', 'https://two'])
    expect(addresses.current()).toEqual(['http://one:1', 'https://two'])
    expect(await addresses.each()).toEqual(['http://one:1', 'https://two'])
    await addresses.lookUp(1_000)
    expect(dns.asked).toEqual([])
  })

  it('follow the look-ups of a name: processes appear and vanish', async () => {
    const { dns, urls } = givenAddresses([NAME, 'http://listed:1'], ['10.0.0.1'])
    expect(urls()).toEqual(['http://listed:1'])
    await expect.poll(urls, SOON).toEqual(['http://10.0.0.1:9100', 'http://listed:1'])
    dns.answer = ['10.0.0.2', '10.0.0.1', 'fd00::3']
    await expect
      .poll(urls, SOON)
      .toEqual(['http://10.0.0.1:9100', 'http://10.0.0.2:9100', 'http://[fd00::3]:9100', 'http://listed:1'])
    dns.answer = ['10.0.0.2']
    await expect.poll(urls, SOON).toEqual(['http://10.0.0.2:9100', 'http://listed:1'])
    expect(new Set(dns.asked)).toEqual(new Set(['metering']))
  })

  it('stay the last known ones while look-ups fail', async () => {
    const { dns, urls } = givenAddresses([NAME], ['10.0.0.1'])
    await expect.poll(urls, SOON).toEqual(['http://10.0.0.1:9100'])
    dns.answer = undefined
    await looksUpAgain(dns)
    expect(urls()).toEqual(['http://10.0.0.1:9100'])
    dns.answer = ['10.0.0.2']
    await expect.poll(urls, SOON).toEqual(['http://10.0.0.2:9100'])
  })

  it('are known to every caller at once while a look-up hangs, and it is the only one', async () => {
    const { addresses, dns, urls } = givenAddresses([NAME], ['10.0.0.1'])
    await expect.poll(urls, SOON).toEqual(['http://10.0.0.1:9100'])
    dns.answer = never()
    await looksUpOnce(dns)
    const asked = dns.asked.length
    expect(urls()).toEqual(['http://10.0.0.1:9100'])
    expect(await addresses.each()).toEqual(['http://10.0.0.1:9100'])
    await Promise.all(Array.from({ length: 50 }, () => addresses.lookUp(1)))
    expect(dns.asked.length).toBe(asked)
  })

  it('are looked up at once for callers who find no process', async () => {
    const dns = { answer: ['10.0.0.1'], asked: 0 }
    const lookUp: LookUp = async () => {
      dns.asked += 1
      return dns.answer
    }
    const addresses = createAddresses([NAME], { lookUpEveryMs: 60_000, lookUp })
    onTestFinished(addresses.stop)
    await addresses.lookUp(1_000)
    expect(addresses.current()).toEqual(['http://10.0.0.1:9100'])
    dns.answer = ['10.0.0.2']
    await Promise.all(Array.from({ length: 50 }, () => addresses.lookUp(1_000)))
    expect(dns.asked, 'just looked up').toBe(1)
    await expect.poll(() => addresses.lookUp(1_000).then(addresses.current), SOON).toEqual(['http://10.0.0.2:9100'])
  })

  it('are those of every name for callers who ask each process', async () => {
    const { addresses } = givenAddresses(['http://listed:1', NAME], ['10.0.0.1'])
    expect(await addresses.each()).toEqual(['http://listed:1', 'http://10.0.0.1:9100'])
  })

  it('include a name whose look-up fails, as a process that does not answer', async () => {
    const { addresses } = givenAddresses(['http://listed:1', NAME])
    expect(await addresses.each()).toEqual(['http://listed:1', NAME])
  })

  it('are known once one of the names has some', async () => {
    const answers: Record<string, Promise<readonly string[]>> = {
      one: Promise.reject(new Error('getaddrinfo ENOTFOUND')),
      two: Promise.resolve(['10.0.0.2']),
      three: never(),
    }
    const names = Object.keys(answers).map((name) => `dns+http://${name}`)
    const addresses = createAddresses(names, { lookUp: (hostname) => answers[hostname] ?? never() })
    onTestFinished(addresses.stop)
    await addresses.untilKnown(60_000)
    expect(addresses.current()).toEqual(['http://10.0.0.2'])
  })

  it('are awaited no longer than their caller waits', async () => {
    const { addresses } = givenAddresses([NAME], undefined)
    await addresses.untilKnown(60_000)
    const hanging = createAddresses([NAME], { lookUp: never })
    onTestFinished(hanging.stop)
    await hanging.untilKnown(1)
    await hanging.untilKnown(60_000, AbortSignal.timeout(1))
    expect([addresses.current(), hanging.current()]).toEqual([[], []])
  })

  it('name the entry as a process that does not answer while none is known', async () => {
    const { addresses } = givenAddresses([NAME])
    expect(await addresses.each()).toEqual([NAME])
    expect(new URL(NAME).host).toBe('metering:9100')
  })

  it('are no longer looked up after a stop', async () => {
    const { addresses, dns, urls } = givenAddresses([NAME], ['10.0.0.1'])
    await expect.poll(urls, SOON).toEqual(['http://10.0.0.1:9100'])
    addresses.stop()
    const asked = dns.asked.length
    await new Promise((resolve) => setTimeout(resolve, 5 * EVERY_MS))
    expect(dns.asked.length).toBe(asked)
  })
})

/** Resolves after the next look-up has begun. */
async function looksUpOnce({ asked }: { readonly asked: readonly string[] }): Promise<void> {
  const before = asked.length
  await expect.poll(() => asked.length, SOON).toBeGreaterThan(before)
}

it('look-ups occupy at most two threads, whatever hangs', async () => {
  let running = 0
  const ends: (() => void)[] = []
  const lookUp = boundLookUps(async (hostname) => {
    running += 1
    await new Promise<void>((resolve) => ends.push(resolve))
    running -= 1
    if (hostname === 'broken') throw new Error('ENOTFOUND')
    return ['10.0.0.1']
  }, 2)
  const all = Promise.allSettled(['broken', 'b', 'c', 'd'].map(lookUp))
  for (let ended = 0; ended < 4; ended += 1) {
    await expect.poll(() => ends.length, SOON).toBeGreaterThan(ended)
    expect(running).toBeLessThanOrEqual(2)
    ends[ended]?.()
  }
  expect((await all).map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled', 'fulfilled'])
})

it.each([
  ['http://host:1', true],
  ['https://host', true],
  ['dns+http://name:9100', true],
  ['dns+https://name:9100', false],
  ['dns+http://', false],
  ['dns://name:9100', false],
  ['name:9100', false],
])('%s is an address of a service: %s', (text, isGood) => {
  expect(isServiceAddress(text)).toBe(isGood)
})
