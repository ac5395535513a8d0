const WIDTH = 30
const SHOW_EVERY_MS = 100

export interface ProgressBar {
  readonly show: (done: number, total: number) => void
  readonly clear: () => void
}

/** One line on standard error that is drawn over again; nothing where that is no terminal. */
export function createProgressBar(unit: string): ProgressBar {
  const { stderr } = process
  let shownAt = 0
  return {
    show: (done, total) => {
      if (!stderr.isTTY || performance.now() - shownAt < SHOW_EVERY_MS) return
      shownAt = performance.now()
      const share = total === 0 ? 1 : done / total
      const bar = '█'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '░')
      stderr.write(`\r${bar} ${Math.floor(share * 100)} % of ${total} ${unit}`)
    },
    clear: () => {
      if (stderr.isTTY) stderr.write('\r\u001B[2K')
    },
  }
}
