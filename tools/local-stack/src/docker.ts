import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import type { ProcessPlan } from './owned-process.ts'

const run = promisify(execFile)

/** Whether a Docker engine answers. Checked once. */
export function dockerAnswers(): Promise<boolean> {
  answer ??= run('docker', ['version', '--format', '{{.Server.Version}}'], { timeout: 10_000 }).then(
    () => true,
    () => false,
  )
  return answer
}
let answer: Promise<boolean> | undefined

export interface ContainerOptions {
  readonly name: string
  readonly image: string
  /** The data folder that the container replaces. The names of container and volume derive from it. */
  readonly dataDirectory: string
  /** The image's data folder; a named volume is mounted there. */
  readonly volumePath: string
  /** Published on loopback only. */
  readonly port: { readonly host: number; readonly container: number }
  readonly environment?: Readonly<Record<string, string>>
  readonly args?: readonly string[]
  readonly logFile: string
  readonly signal?: AbortSignal | undefined
  readonly readyLine: RegExp
}

/** The plan to run `docker run` as an owned process. */
export function containerPlan(options: ContainerOptions): ProcessPlan {
  const container = containerName(options.name, options.dataDirectory)
  const environment = Object.entries(options.environment ?? {}).map(([name, value]) => `--env=${name}=${value}`)
  return {
    name: options.name,
    command: 'docker',
    args: [
      'run',
      '--rm',
      `--name=${container}`,
      '--label=nextvisit.local-stack=true',
      `--publish=127.0.0.1:${options.port.host}:${options.port.container}`,
      `--volume=${container}:${options.volumePath}`,
      ...environment,
      options.image,
      ...(options.args ?? []),
    ],
    container,
    logFile: options.logFile,
    signal: options.signal,
    readyLine: options.readyLine,
  }
}

export function containerName(name: string, dataDirectory: string): string {
  const folder = createHash('sha256').update(dataDirectory).digest('hex').slice(0, 12)
  return `nextvisit-${name.toLowerCase()}-${folder}`
}

/** Stops and removes the container, if there is one. Its named volume stays. */
export async function removeContainer(container: string): Promise<void> {
  await run('docker', ['rm', '--force', '--volumes', container]).catch(() => {})
}

export async function removeVolume(volume: string): Promise<void> {
  await run('docker', ['volume', 'rm', '--force', volume]).catch(() => {})
}

export function signalContainer(container: string, signal: NodeJS.Signals): void {
  spawn('docker', ['kill', '--signal', signal, container], { stdio: 'ignore' }).on('error', () => {})
}
