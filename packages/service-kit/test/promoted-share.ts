import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/**
 * Runs a program and returns the share of its allocations that outlive V8's new space, here of 1 MB. Only major collections
 * free such objects, at a much higher cost. The program may call `gc()`, which moves live objects out of the new space.
 */
export async function promotedShare(program: string): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--max-semi-space-size=1',
    '--expose-gc',
    '--trace-gc-nvp',
    program,
  ])
  const collections = stdout.split('\n').filter((line) => line.includes(' gc=s '))
  return sumOf('promoted', collections) / sumOf('allocated', collections)
}

/** Sums a figure over lines such as `pause=0.3 gc=s allocated=1048576 promoted=1024`. */
function sumOf(name: string, lines: readonly string[]): number {
  const figure = new RegExp(` ${name}=(\\d+)`)
  return lines.reduce((sum, line) => sum + Number(figure.exec(line)?.[1]), 0)
}
