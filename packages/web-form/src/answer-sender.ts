import type { AnswerStatus, Answers, FormAnswer, Offer } from '@nextvisit/contracts/shown-form'

/** Time in ms during which answers to elements are gathered for one request. */
const GATHER_MS = 400

/**
 * Sends answers to the gateway. A rejected promise, or a result whose `outcome` is not `answered`, means that the gateway
 * does not have them.
 */
export type Send = (answer: FormAnswer) => Promise<unknown>

/** Sends the answers to an offer, at most one request for partial answers at a time. */
export interface AnswerSender {
  /** Sends partial answers soon; the latest replace earlier ones. */
  readonly sendPartial: (answers: Answers) => void
  /** Sends waiting partial answers now, because the page is left. */
  readonly flush: () => void
  /** Ends the form. Rejects if the gateway does not have the answers. */
  readonly end: (status: 'finished' | 'dismissed', answers: Answers) => Promise<void>
}

export function createAnswerSender({ offerId, formId, revision, language }: Offer, send: Send): AnswerSender {
  let waiting: Answers | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let isBusy = false
  /** The answers that the gateway has, as JSON. */
  let sent = '{}'

  async function transfer(status: AnswerStatus, answers: Answers): Promise<void> {
    const result = await send({ offerId, formId, revision, language, answers, status })
    const { outcome = 'answered' } = (result ?? {}) as { readonly outcome?: unknown }
    if (outcome !== 'answered') throw new Error(`The answers were not accepted: ${JSON.stringify(result)}`)
  }

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    const answers = waiting
    waiting = undefined
    const before = sent
    const json = JSON.stringify(answers ?? {})
    if (!answers || json === before) return
    sent = json
    isBusy = true
    // A failure is not shown: the next request has the same answers and more.
    transfer('partial', answers)
      .catch(() => {
        if (sent === json) sent = before
      })
      .finally(() => {
        isBusy = false
        schedule()
      })
  }

  function schedule(): void {
    if (waiting && !isBusy) timer ??= setTimeout(flush, GATHER_MS)
  }

  return {
    sendPartial: (answers) => {
      waiting = answers
      schedule()
    },
    flush,
    end: (status, answers) => {
      clearTimeout(timer)
      timer = undefined
      waiting = undefined
      return transfer(status, answers)
    },
  }
}
