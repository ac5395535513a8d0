const BAR_WIDTH = 30
const DRAW_EVERY_MS = 200
const TELL_EVERY_MS = 5_000

/** Shows how far a rebuild is. */
export interface Progress {
  /** So many more records are folded. */
  readonly add: (records: number) => void
  /** Removes the bar, until more records are folded. */
  readonly clear: () => void
  /** Records, seconds, records per second. */
  readonly summary: () => string
}

export interface ProgressOptions {
  readonly total: number
  readonly stream: NodeJS.WriteStream
  readonly now?: () => number
}

/** A moving bar on a terminal; elsewhere one line every few seconds. */
export function createProgress({ total, stream, now = () => performance.now() }: ProgressOptions): Progress {
  const startedAt = now()
  const everyMs = stream.isTTY ? DRAW_EVERY_MS : TELL_EVERY_MS
  let shownAt = startedAt
  let folded = 0

  const rate = (): number => folded / Math.max(0.001, (now() - startedAt) / 1_000)

  const show = (): void => {
    const line = lineOf({ done: folded, total: Math.max(total, folded), perSecond: rate() })
    stream.write(stream.isTTY ? `\r\u001b[K${line}` : `${line}\n`)
  }

  return {
    add: (records) => {
      folded += records
      if (now() - shownAt < everyMs) return
      shownAt = now()
      show()
    },
    clear: () => {
      if (stream.isTTY) stream.write('\r\u001b[K')
    },
    summary: () =>
      `${count(folded)} records folded in ${((now() - startedAt) / 1_000).toFixed(1)} s (${count(rate())} records/s)`,
  }
}

function lineOf({ done, total, perSecond }: { done: number; total: number; perSecond: number }): string {
  const part = total === 0 ? 1 : done / total
  const filled = Math.round(part * BAR_WIDTH)
  const bar = `${'█'.repeat(filled)}${'·'.repeat(BAR_WIDTH - filled)}`
  const left = perSecond > 0 ? `${Math.ceil((total - done) / perSecond)} s left` : ''
  return `${bar} ${Math.floor(part * 100)} %  ${count(done)} of ${count(total)}  ${count(perSecond)} records/s  ${left}`
}

function count(number: number): string {
  return Math.round(number).toLocaleString('en')
}
