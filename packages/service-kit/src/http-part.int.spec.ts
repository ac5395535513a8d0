import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { promotedShare } from '../test/promoted-share.ts'

describe('a busy server', () => {
  it('keeps no answered request alive until a major collection (performance.md, Memory)', async () => {
    const program = path.join(import.meta.dirname, '../test/tracked-responses.fixture.ts')
    expect(await promotedShare(program)).toBeLessThan(0.02)
  })
})
