import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/**
 * Runs a program and resolves to which share of what it allocates outlives the new space of V8, of 1 MB. Such objects are
 * freed by large collections only, which cost much more. The program may call `gc()`, which moves what is alive out of it.
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

/** Of a figure in lines such as `pause=0.3 gc=s allocated=1048576 promoted=1024`. */
function sumOf(name: string, lines: readonly string[]): number {
  const figure = new RegExp(` ${name}=(\\d+)`)
  return lines.reduce((sum, line) => sum + Number(figure.exec(line)?.[1]), 0)
}
