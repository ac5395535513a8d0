import path from 'node:path'
import { promotedShare } from '@nextvisit/service-kit/test/promoted-share.ts'
import { describe, expect, it } from 'vitest'

describe('a constant stream of bodies', () => {
  it('leaves nothing to major garbage collections (docs/reference/performance.md, Memory)', async () => {
    const program = path.join(import.meta.dirname, '../../../test/unfinished-bodies.fixture.ts')
    expect(await promotedShare(program)).toBeLessThan(0.02)
  })
})
