/** Runs `work`, which counts `size` (default 1); 'crowded' where its turn did not come in time. */
type InTurn = <Result>(key: string, work: () => Promise<Result>, size?: number) => Promise<Result | 'crowded'>

interface TurnsByKeyOptions {
  /** What works of one key that run at once may count together; one runs, whatever it counts. Default 3. */
  readonly atOnce?: number
  /** What takes longer waits for something else, such as a fold or a service: the next one begins. Default 250. */
  readonly worksForMs?: number
  /** How long a work waits for its turn. Default 1,500. */
  readonly withinMs?: number
}

interface Waiting {
  readonly size: number
  readonly onTurn: () => void
}

interface Line {
  /** What those count that work. */
  working: number
  readonly waiting: Waiting[]
}

/**
 * Lets each key have a few works at once, the others in their order, so that forty at once of one tenant do not make all
 * others wait: reads, each of which costs every process several times what a record does, large bodies (decisions.md, Busy
 * and broken), and bodies that are inflated (Slow and large).
 */
export function createTurnsByKey({ atOnce = 3, worksForMs = 250, withinMs = 1_500 }: TurnsByKeyOptions = {}): InTurn {
  const lines = new Map<string, Line>()
  const hasRoom = ({ working }: Line, size: number): boolean => working === 0 || working + size <= atOnce

  function beginNext(line: Line): void {
    for (let next = line.waiting[0]; next && hasRoom(line, next.size); next = line.waiting[0]) {
      line.waiting.shift()
      line.working += next.size
      next.onTurn()
    }
  }

  function turnComes(line: Line, size: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const giveUp = (): void => {
      line.waiting.splice(line.waiting.indexOf(waiting), 1)
      resolve(false)
      beginNext(line)
    }
    const timer = setTimeout(giveUp, withinMs)
    const onTurn = (): void => {
      clearTimeout(timer)
      resolve(true)
    }
    const waiting = { size, onTurn }
    line.waiting.push(waiting)
    return promise
  }

  /** Returns what ends a work that has begun. */
  function begin(key: string, line: Line, size: number): () => void {
    let isWorking = true
    const end = (): void => {
      if (!isWorking) return
      isWorking = false
      clearTimeout(timer)
      line.working -= size
      beginNext(line)
      if (line.working === 0) lines.delete(key)
    }
    const timer = setTimeout(end, worksForMs)
    return end
  }

  return async (key, work, size = 1) => {
    const line = lines.get(key) ?? { working: 0, waiting: [] }
    lines.set(key, line)
    if (line.waiting.length === 0 && hasRoom(line, size)) line.working += size
    else if (!(await turnComes(line, size))) return 'crowded'
    const end = begin(key, line, size)
    try {
      return await work()
    } finally {
      end()
    }
  }
}
