import { expect, it } from 'vitest'
import { type Pools, poolParts } from './open-pools.ts'

it('each pool of a consumer has its own name in the log, and is closed as that part', async () => {
  const closed: string[] = []
  const pool = (name: string) => ({ $disconnect: async () => void closed.push(name) })
  const names = ['foldDb', 'upkeepDb', 'admissionDb', 'readDb'] as const
  const pools = Object.fromEntries(names.map((name) => [name, pool(name)])) as unknown as Pools
  const parts = poolParts(pools)
  expect(parts.map(({ name }) => name)).toEqual([
    'database pool folds',
    'database pool upkeep',
    'database pool admission',
    'database pool reads',
  ])
  for (const { stop } of parts) await stop()
  expect(closed).toEqual([...names])
})
