import path from 'node:path'
import { promotedShare } from '@nextvisit/service-kit/test/promoted-share.ts'
import { describe, expect, it } from 'vitest'

describe('bodies that come all the time', () => {
  it('leave nothing to large collections once they are read (docs/reference/performance.md, Memory)', async () => {
    const program = path.join(import.meta.dirname, '../../test/unfinished-bodies.fixture.ts')
    expect(await promotedShare(program)).toBeLessThan(0.02)
  })
})
