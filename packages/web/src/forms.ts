import { isHidden } from './is-hidden.ts'
import type { Marks } from './marks.ts'
import type { Store } from './store.ts'
import type { VisitAnswer } from './result.ts'

/** A form is stored as `<onPageDelay> <feedbackId>` under the key of its visit, so that a visit that is answered twice keeps one. */
const PREFIX = 'form:'

export interface Form {
  /** Names the form to show. */
  readonly feedbackId: string
}
export type FormHandler = (form: Form) => void

/** Forms that have arrived and were not shown yet. They are stored, so that the page that follows shows them. */
export interface Forms {
  /** Keeps the form of this visit's answer, if it brought one. */
  readonly keep: (visitKey: string, answer: VisitAnswer) => void
  /** Returns what removes the handler. */
  readonly onForm: (handle: FormHandler) => () => void
  /** Counts the delay of a form from here. */
  readonly pageBegan: () => void
  /** The page can be seen again. */
  readonly pageShown: () => void
  readonly stop: () => void
}

export function createForms(store: Store, marks: Marks): Forms {
  const handlers = new Set<FormHandler>()
  let timer: ReturnType<typeof setTimeout> | undefined
  /** Its delay is over, but nobody sees the page. */
  let isHeldBack = false

  /** One form per page, and per answer: the next one waits for either. */
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
    // Another tab may be handing it over, and this one not see yet that it is taken.
    const isFirst = name !== undefined && (await marks.mark(name))
    timer = undefined
    if (!isFirst || handlers.size === 0) return
    // Taken before it is handed over, so never handed over twice: a handler may leave the page.
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
