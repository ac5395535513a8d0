/** Runs `work`; 'crowded' where its turn did not come in time. */
type InTurn = <Result>(key: string, work: () => Promise<Result>) => Promise<Result | 'crowded'>

interface TurnsByKeyOptions {
  /** Works of one key that run at once. Default 3. */
  readonly atOnce?: number
  /** What takes longer waits for something else, such as a fold or a service: the next one begins. Default 250. */
  readonly worksForMs?: number
  /** How long a work waits for its turn. Default 1,500. */
  readonly withinMs?: number
}

interface Line {
  working: number
  readonly waiting: (() => void)[]
}

/**
 * Lets each key have a few works at once, the others in their order, so that forty at once of one tenant do not make all
 * others wait: reads, each of which costs every process several times what a record does (decisions.md, Busy and broken),
 * and bodies that are inflated (Slow and large).
 */
export function createTurnsByKey({ atOnce = 3, worksForMs = 250, withinMs = 1_500 }: TurnsByKeyOptions = {}): InTurn {
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

  return async (key, work) => {
    const line = lines.get(key) ?? { working: 0, waiting: [] }
    lines.set(key, line)
    if (line.working < atOnce) line.working += 1
    else if (!(await turnComes(line, withinMs))) return 'crowded'
    const end = begin(key, line)
    try {
      return await work()
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
