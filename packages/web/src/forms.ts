import type { Marks } from './marks.ts'
import { isHidden } from './page.ts'
import type { VisitAnswer } from './result.ts'
import type { Store } from './store.ts'

/** Prefix of stored forms: `<onPageDelay> <feedbackId>` under the key of the visit, so that a visit answered twice stores one. */
const PREFIX = 'form:'

export interface Form {
  /** Id of the form to show. */
  readonly feedbackId: string
}
export type FormHandler = (form: Form) => void

/** Received forms that are not shown yet. They are stored, so that the next page shows them. */
export interface Forms {
  /** Stores the form of a visit's answer, if it has one. */
  readonly keep: (visitKey: string, answer: VisitAnswer) => void
  /** Adds a handler. Returns a function that removes it. */
  readonly onForm: (handle: FormHandler) => () => void
  /** Restarts the delay of a form at a new page. */
  readonly pageBegan: () => void
  /** Reports that the page is visible again. */
  readonly pageShown: () => void
  readonly stop: () => void
}

export function createForms(store: Store, marks: Marks): Forms {
  const handlers = new Set<FormHandler>()
  let timer: ReturnType<typeof setTimeout> | undefined
  /** True if the delay is over, but the page is hidden. */
  let isHeldBack = false

  /** Schedules the next form. At most one is shown per page and per answer. */
  function expect(): void {
    const [name] = store.names(PREFIX)
    if (timer !== undefined || name === undefined || handlers.size === 0) return
    const [delay = '0'] = (store.get(name) ?? '').split(' ')
    timer = setTimeout(() => void handOver(), Number(delay) * 1_000)
  }

  async function handOver(): Promise<void> {
    isHeldBack = isHidden()
    if (isHeldBack) return
    const [name] = store.names(PREFIX)
    // Another tab may have taken the form, which this tab may not see yet.
    const isFirst = name !== undefined && (await marks.mark(name))
    timer = undefined
    if (!isFirst || handlers.size === 0) return
    // Takes the form before the handler runs, because the handler may leave the page.
    const [, feedbackId] = store.take(name)?.split(' ') ?? []
    if (feedbackId === undefined) return
    for (const handle of handlers) {
      try {
        handle({ feedbackId })
      } catch (error) {
        reportError(error)
      }
    }
  }

  function endDelay(): void {
    clearTimeout(timer)
    timer = undefined
    isHeldBack = false
  }

  return {
    keep: (visitKey, { nextFeedbackId: feedbackId, onPageDelay }) => {
      if (feedbackId !== undefined) store.set(PREFIX + visitKey, `${onPageDelay} ${feedbackId}`)
      expect()
    },
    onForm: (handle) => {
      handlers.add(handle)
      expect()
      return () => handlers.delete(handle)
    },
    pageBegan: () => {
      endDelay()
      expect()
    },
    pageShown: () => {
      if (isHeldBack) void handOver()
    },
    stop: () => {
      endDelay()
      handlers.clear()
    },
  }
}
