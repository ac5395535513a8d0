const BAR_WIDTH = 24
const TERMINAL_EVERY_MS = 200
const LOG_EVERY_MS = 10_000

export interface Progress {
  /** Shows the finished share, from 0 to 1, and the number of records. */
  readonly report: (share: number, records: number) => void
  /** Shows the reason for a pause in place of the bar, until the next report. */
  readonly pause: (because: string) => void
  /** Removes the bar. */
  readonly end: () => void
}

/** Creates a progress display on standard error: a bar on a terminal, otherwise a line every ten seconds. */
export function createProgress(stream: NodeJS.WriteStream = process.stderr): Progress {
  const startedAt = performance.now()
  const everyMs = stream.isTTY ? TERMINAL_EVERY_MS : LOG_EVERY_MS
  let shownAt = startedAt

  // The line is made only if it is shown: a report may come for each record.
  const show = (lineAt: (nowMs: number) => string): void => {
    const nowMs = performance.now()
    if (nowMs - shownAt < everyMs) return
    shownAt = nowMs
    const line = lineAt(nowMs)
    stream.write(stream.isTTY ? `\r\x1b[K${line.slice(0, (stream.columns ?? 80) - 1)}` : `${line}\n`)
  }

  return {
    report: (share, records) => show((nowMs) => progressLine(share, records, nowMs - startedAt)),
    pause: (because) => show(() => because),
    end: () => {
      if (stream.isTTY) stream.write('\r\x1b[K')
    },
  }
}

/** Formats progress, such as `████░░  62%  12,345 records  4,100/s  0:07 left`. */
function progressLine(share: number, records: number, elapsedMs: number): string {
  const portion = Math.min(1, Math.max(0, share))
  const filled = Math.round(portion * BAR_WIDTH)
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled)
  const perSecond = elapsedMs > 0 ? Math.round((records / elapsedMs) * 1_000) : 0
  const left = portion > 0 ? timeOf((elapsedMs / portion) * (1 - portion)) : '?'
  return `${bar} ${String(Math.floor(portion * 100)).padStart(3)}%  ${formatCount(records)} records  ${formatCount(perSecond)}/s  ${left} left`
}

/** Formats a count, such as `12,345`. */
export function formatCount(records: number): string {
  return records.toLocaleString('en-US')
}

function timeOf(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  const hours = Math.floor(seconds / 3_600)
  const minutes = Math.floor(seconds / 60) % 60
  return hours > 0 ? `${hours}:${padded(minutes)}:${padded(seconds % 60)}` : `${minutes}:${padded(seconds % 60)}`
}

function padded(part: number): string {
  return String(part).padStart(2, '0')
}
