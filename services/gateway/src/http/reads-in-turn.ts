/** Runs `read`; 'crowded' where its turn did not come in time. */
export type ReadInTurn = <Result>(key: string, read: () => Promise<Result>) => Promise<Result | 'crowded'>

export interface ReadsInTurnOptions {
  /** Reads of one key that are worked on at once. Default 3. */
  readonly atOnce?: number
  /** A read that takes longer waits for a fold or a service, and works on nothing: the next one begins. Default 250. */
  readonly worksForMs?: number
  /** How long a read waits for its turn. Default 1,500. */
  readonly withinMs?: number
}

interface Line {
  working: number
  readonly waiting: (() => void)[]
}

/**
 * Lets each key have a few reads at once, the others in their order (decisions.md, Busy and broken). A read costs every
 * process several times what a record does, so forty at once of one tenant would make all others wait.
 */
export function createReadsInTurn({
  atOnce = 3,
  worksForMs = 250,
  withinMs = 1_500,
}: ReadsInTurnOptions = {}): ReadInTurn {
  const lines = new Map<string, Line>()

  function begin(key: string, line: Line): () => void {
    let isWorking = true
    const end = (): void => {
      if (!isWorking) return
      isWorking = false
      clearTimeout(timer)
      const next = line.waiting.shift()
      if (next) return next()
      line.working -= 1
      if (line.working === 0) lines.delete(key)
    }
    const timer = setTimeout(end, worksForMs)
    return end
  }

  return async (key, read) => {
    const line = lines.get(key) ?? { working: 0, waiting: [] }
    lines.set(key, line)
    if (line.working < atOnce) line.working += 1
    else if (!(await turnComes(line, withinMs))) return 'crowded'
    const end = begin(key, line)
    try {
      return await read()
    } finally {
      end()
    }
  }
}

function turnComes({ waiting }: Line, withinMs: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const onTurn = (): void => {
    clearTimeout(timer)
    resolve(true)
  }
  const timer = setTimeout(() => {
    waiting.splice(waiting.indexOf(onTurn), 1)
    resolve(false)
  }, withinMs)
  waiting.push(onTurn)
  return promise
}
