import { execFileSync } from 'node:child_process'
import { inject, it } from 'vitest'
it('measures', { timeout: 580_000 }, () => {
  for (const users of ['100000', '1000000'])
    console.log(execFileSync(process.execPath, ['tools/cli/test/measure-swap.ts', inject('databaseUrl'), users], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }))
})
