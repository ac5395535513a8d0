import { afterEach, describe, expect, it, vi } from 'vitest'
import { createEvents } from './events.ts'
import { createPauses } from './pauses.ts'
import type { Send } from './send.ts'
import { createStore } from './store.ts'

/** A request without an answer. */
const send: Send = () => new Promise(() => {})

afterEach(() => vi.unstubAllGlobals())

describe('an unanswered event', () => {
  it.each(['hidden', 'visible'])(
    'is stored at once if the page is %s, because the page may end',
    async (visibilityState) => {
      vi.stubGlobal('document', { visibilityState })
      const store = createStore('test:')
      const events = createEvents({
        user: { userName: 'ada' },
        send,
        store,
        pauses: createPauses(),
        isClosed: () => false,
        identified: Promise.resolve(),
      })
      void events.track('Left')
      expect(store.names('event:')).toHaveLength(visibilityState === 'hidden' ? 1 : 0)
      events.keepUnanswered()
      expect(store.names('event:')).toHaveLength(1)
    },
  )
})
