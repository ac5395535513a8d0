import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Resolves to whether a Docker engine answers. Checks once. */
export function dockerAnswers(): Promise<boolean> {
  answer ??= run('docker', ['version', '--format', '{{.Server.Version}}'], { timeout: 10_000 }).then(
    () => true,
    () => false,
  )
  return answer
}
let answer: Promise<boolean> | undefined

export function containerName(name: string, dataDirectory: string): string {
  const folder = createHash('sha256').update(dataDirectory).digest('hex').slice(0, 12)
  return `nextvisit-${name.toLowerCase()}-${folder}`
}

/** Stops and removes the container if it exists. Its named volume stays. */
export async function removeContainer(container: string): Promise<void> {
  await run('docker', ['rm', '--force', '--volumes', container]).catch(() => {})
}

export async function removeVolume(volume: string): Promise<void> {
  await run('docker', ['volume', 'rm', '--force', volume]).catch(() => {})
}

export function signalContainer(container: string, signal: NodeJS.Signals): void {
  spawn('docker', ['kill', '--signal', signal, container], { stdio: 'ignore' }).on('error', () => {})
}
