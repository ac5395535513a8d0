import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createTurnsByKey } from './turns-by-key.ts'

const LONG = 60_000

/** Reads that run until they are ended. */
function givenReads() {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const read = (name: string) => async (): Promise<string> => {
    begun.push(name)
    await new Promise<void>((resolve) => ends.push(resolve))
    return name
  }
  return { begun, read, end: () => ends.shift()?.() }
}

it('a few reads of a key run at once, the others wait in their order, and another key is not affected', async () => {
  const inTurn = createTurnsByKey({ atOnce: 2, heldForMs: LONG, withinMs: LONG })
  const { begun, read, end } = givenReads()
  const names = ['a', 'b', 'c', 'd']
  const results = names.map((name) => inTurn('one', read(name)))
  void inTurn('other', read('e'))
  await nextTurn()
  expect(begun).toEqual(['a', 'b', 'e'])
  end()
  await results[0]
  await nextTurn()
  expect(begun).toEqual(['a', 'b', 'e', 'c'])
  for (let left = 0; left < 5; left += 1) {
    end()
    await nextTurn()
  }
  expect(await Promise.all(results)).toEqual(names)
})

it('tasks count by their size, none overtakes another, and one above the limit runs alone', async () => {
  const inTurn = createTurnsByKey({ atOnce: 10, heldForMs: LONG, withinMs: LONG })
  const { begun, read, end } = givenReads()
  const sizes = { a: 4, b: 6, c: 25, d: 1, e: 9 }
  const results = Object.entries(sizes).map(([name, size]) => inTurn('one', read(name), size))
  const afterEnd = async () => {
    end()
    await nextTurn()
    return begun.join('')
  }
  expect(begun.join('')).toBe('ab')
  expect([await afterEnd(), await afterEnd(), await afterEnd()]).toEqual(['ab', 'abc', 'abcde'])
  end()
  end()
  expect(await Promise.all(results)).toEqual(Object.keys(sizes))
})

it('smaller tasks begin once the large one before them has waited too long', async () => {
  const inTurn = createTurnsByKey({ atOnce: 10, heldForMs: LONG, withinMs: 20 })
  const { begun, read, end } = givenReads()
  const first = inTurn('one', read('a'), 8)
  const large = inTurn('one', read('b'), 9)
  await sleep(10)
  const small = inTurn('one', read('c'), 2)
  expect(await large).toBe('crowded')
  await expect.poll(() => begun).toEqual(['a', 'c'])
  end()
  end()
  expect(await Promise.all([first, small])).toEqual(['a', 'c'])
})

it('the next read begins while a slow one still runs, and each counts only once', async () => {
  const inTurn = createTurnsByKey({ atOnce: 1, heldForMs: 20, withinMs: LONG })
  const { begun, read, end } = givenReads()
  const results = [inTurn('one', read('a')), inTurn('one', read('b'))]
  await expect.poll(() => begun).toEqual(['a', 'b'])
  end()
  end()
  expect(await Promise.all(results)).toEqual(['a', 'b'])
  const last = [inTurn('one', read('c')), inTurn('one', read('d'))]
  await nextTurn()
  expect(begun).toEqual(['a', 'b', 'c'])
  end()
  await last[0]
  await expect.poll(() => begun.at(-1)).toBe('d')
  end()
  expect(await last[1]).toBe('d')
})

it('a read without a turn in time is crowded, and is forgotten', async () => {
  const inTurn = createTurnsByKey({ atOnce: 1, heldForMs: LONG, withinMs: 20 })
  const { begun, read, end } = givenReads()
  const first = inTurn('one', read('a'))
  expect(await inTurn('one', read('b'))).toBe('crowded')
  end()
  await first
  const next = inTurn('one', read('c'))
  await sleep(1)
  expect(begun).toEqual(['a', 'c'])
  end()
  expect(await next).toBe('c')
})

it('the next read takes the place of a failed one', async () => {
  const inTurn = createTurnsByKey({ atOnce: 1, heldForMs: LONG, withinMs: LONG })
  const failing = inTurn('one', () => Promise.reject(new TypeError('a bug')))
  const next = inTurn('one', async () => 'b')
  await expect(failing).rejects.toThrow('a bug')
  expect(await next).toBe('b')
})
