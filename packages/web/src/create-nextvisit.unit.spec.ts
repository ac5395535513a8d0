import { describe, expect, it } from 'vitest'
import { createNextvisit, type NextvisitOptions } from './create-nextvisit.ts'

const CLOSED = { outcome: 'unanswered', reason: 'closed' }

describe('where there is no page, such as on a server', () => {
  it.each([
    ['all that it needs', { key: 'nv_sdk_P_x', host: 'https://nextvisit.example.com', userName: 'ada' }],
    ['traits that are no JSON', { key: '', host: '', userName: '', traits: { total: 1n } }],
    ['nothing', {}],
  ])('with %s it does nothing, and throws nothing', async (_name, options) => {
    const nextvisit = createNextvisit(options as unknown as NextvisitOptions)
    const removeHandler = nextvisit.onForm(() => undefined)
    expect([await nextvisit.visit(), await nextvisit.track('Looked')]).toEqual([CLOSED, CLOSED])
    removeHandler()
    nextvisit.close()
  })
})
