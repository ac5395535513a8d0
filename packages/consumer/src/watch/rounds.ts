/** Repeated work: a round begins some time after the end of the last one. */
export interface Rounds {
  readonly start: () => void
  /** Begins no more rounds. A running one continues: see `finished`. */
  readonly stop: () => void
  readonly finished: () => Promise<void>
}

/** `runRound` must not reject. */
export function createRounds(runRound: () => Promise<void>, everyMs: number): Rounds {
  let timer: NodeJS.Timeout | undefined
  let isStopped = false
  let round: Promise<void> = Promise.resolve()

  function schedule(): void {
    if (!isStopped) timer = setTimeout(beginRound, everyMs)
  }

  function beginRound(): void {
    round = runRound().then(schedule)
  }

  return {
    start: schedule,
    stop: () => {
      isStopped = true
      clearTimeout(timer)
    },
    finished: () => round,
  }
}
