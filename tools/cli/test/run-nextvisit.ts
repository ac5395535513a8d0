import { format } from 'node:util'
import { vi } from 'vitest'
import { runProgram } from '../src/program.ts'
import { withEnvironment } from './config.ts'

export interface Ended {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs the command line in this process with only the variables of `env`. Calls must not overlap: it captures the output.
 * Only some commands read a `catalogTopic` of the spec.
 */
export async function runNextvisit(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  catalogTopic?: string,
): Promise<Ended> {
  const output = { stdout: '', stderr: '' }
  const into =
    (stream: keyof typeof output, end: string) =>
    (text: unknown, ...rest: readonly unknown[]) => {
      output[stream] += format(text) + end
      const done = rest.at(-1)
      if (typeof done === 'function') done()
      return true
    }
  const spies = [
    vi.spyOn(process.stdout, 'write').mockImplementation(into('stdout', '')),
    vi.spyOn(process.stderr, 'write').mockImplementation(into('stderr', '')),
    vi.spyOn(console, 'log').mockImplementation(into('stdout', '\n')),
    vi.spyOn(console, 'error').mockImplementation(into('stderr', '\n')),
  ]
  try {
    const exitCode = await withEnvironment(env, () => runProgram(['node', 'nextvisit', ...args], catalogTopic))
    return { exitCode, ...output }
  } finally {
    process.exitCode = undefined
    for (const spy of spies) spy.mockRestore()
  }
}
