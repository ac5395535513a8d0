import type { OwnedProcess } from './owned-process.ts'
import { supervise, type Supervised } from './supervise.ts'

/** Processes of a stack, by name. */
export interface ProcessTable {
  /** Launches a process and keeps it running. Rejects if the first launch fails. */
  readonly start: (name: string, launch: (signal: AbortSignal) => Promise<OwnedProcess>) => Promise<Supervised>
  readonly processes: () => ReadonlyMap<string, { readonly pid: number }>
  readonly kill: (name: string, signal: NodeJS.Signals) => void
  /** Stops the running processes among the named ones, all at once. */
  readonly stop: (names: readonly string[]) => Promise<void>
}

/** Creates an empty table. `signal` aborts unfinished first launches. */
export function createProcessTable(options: {
  readonly report: (line: string) => void
  readonly signal: AbortSignal
}): ProcessTable {
  const running = new Map<string, Supervised>()
  return {
    start: async (name, launch) => {
      const supervised = await supervise(name, launch, options)
      running.set(name, supervised)
      return supervised
    },
    processes: () => new Map([...running].map(([name, supervised]) => [name, { pid: supervised.pid() }])),
    kill: (name, signal) => running.get(name)?.kill(signal),
    stop: async (names) => {
      const named = names.map((name) => running.get(name)).filter((supervised) => supervised !== undefined)
      await Promise.all(named.map((supervised) => supervised.stop()))
    },
  }
}
