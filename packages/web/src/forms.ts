import type { FormAnswer, Offer } from '@nextvisit/contracts/shown-form'
import type { PageParts } from './page-parts.ts'
import { isHidden } from './page.ts'
import type { AnswersAnswer, Result, VisitAnswer } from './result.ts'
import type { Queue } from './queue.ts'

/** Kind of stored forms. They are `<onPageDelay> <JSON>` under the key of the visit, so that a visit answered twice stores one. */
const STORED = 'form:'

/** The form to show. Without `content`, the page draws the form that it knows by its id. */
export interface Form extends Offer {
  /** Equal to `formId`. */
  readonly feedbackId: string
  /** {@link Nextvisit.answer} for this form. */
  readonly answer: (given: Pick<FormAnswer, 'answers' | 'status'>) => Promise<Result<AnswersAnswer>>
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

export function createForms({ store, marks }: PageParts, answer: Queue['answer']): Forms {
  const handlers = new Set<FormHandler>()
  let timer: ReturnType<typeof setTimeout> | undefined
  /** True if the delay is over, but the page is hidden. */
  let isHeldBack = false

  /** Schedules the next form. At most one is shown per page and per answer. */
  function expect(): void {
    const [name] = store.names(STORED)
    if (timer || !name || handlers.size === 0) return
    timer = setTimeout(() => void handOver(), Number.parseFloat(store.get(name) ?? '') * 1_000)
  }

  async function handOver(): Promise<void> {
    isHeldBack = isHidden()
    if (isHeldBack) return
    const [name] = store.names(STORED)
    // Another tab may have taken the form, which this tab may not see yet.
    const isFirst = name && (await marks.mark(name))
    timer = undefined
    if (!isFirst || handlers.size === 0) return
    // Takes the form before the handler runs, because the handler may leave the page.
    const form = store.take(name)
    if (!form) return
    for (const handle of handlers) {
      try {
        const offer = JSON.parse(form.replace(/\S+/, '')) as Offer
        const ids = { ...offer, content: undefined }
        handle({ ...offer, feedbackId: offer.formId, answer: (given) => answer({ ...ids, ...given }) })
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
    keep: (visitKey, { nextFeedback, onPageDelay }) => {
      if (nextFeedback) store.set(STORED + visitKey, `${onPageDelay} ${JSON.stringify(nextFeedback)}`)
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
