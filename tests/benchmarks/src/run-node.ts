import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'

/** Path of the operators' command line. */
export const CLI = path.resolve(import.meta.dirname, '../../../tools/cli/src/main.ts')

/** Runs a program with Node, with only this environment. Resolves to its output; rejects with it unless it exited with 0. */
export async function runNode(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(process.execPath, args, { env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (output += text.toString()))
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}:\n${output}`)
  return output
}
