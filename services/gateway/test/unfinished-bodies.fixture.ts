import { createBodyBudget } from '../src/http/body/body-budget.ts'

/** Simulates a key with 64 unfinished bodies at a time. */
const openBody = createBodyBudget({ maxBytes: 1_000_000, maxUnfinishedPerKey: 100 })
const coming: (() => void)[] = []
for (let request = 0; request < 50_000; request += 1) {
  const permit = openBody('key', true)
  const headers = Array.from({ length: 100 }, () => request)
  permit?.onDisplaced(() => void headers.pop())
  coming.push(() => permit?.release())
  if (coming.length > 64) coming.shift()?.()
  if (request === 1_000) globalThis.gc?.()
}
