import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CHECKOUT, inheritedEnvironment } from './config.ts'
import { freePort } from './free-port.ts'

interface Run {
  readonly child: ChildProcess
  readonly output: () => string
  /** Resolves to the exit code or the signal. */
  readonly ended: Promise<number | NodeJS.Signals | null>
}

let folder: string
let port: number
let runs: Run[]

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  port = await freePort()
  runs = []
})
afterEach(async () => {
  for (const { child, ended } of runs) {
    child.kill('SIGTERM')
    await ended
  }
  await rm(folder, { recursive: true, force: true })
})

/** Runs `pnpm start` in this folder and on this port. */
function start(environment: NodeJS.ProcessEnv = {}, args: readonly string[] = []): Run {
  const { PATH, HOME, NODE_COMPILE_CACHE } = inheritedEnvironment()
  const settings = {
    PATH,
    HOME,
    NODE_COMPILE_CACHE,
    NEXTVISIT_DATA: path.join(folder, 'data'),
    GATEWAY_PORT: String(port),
  }
  const child = spawn(process.execPath, [path.join(import.meta.dirname, 'start.ts'), ...args], {
    env: { ...settings, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const ended = once(child, 'close').then(([code, signal]) => (signal ?? code) as number | NodeJS.Signals)
  const run = { child, output: () => output, ended }
  runs.push(run)
  return run
}

/** Resolves to the output of a command about this stack. */
async function nextvisit(...args: readonly string[]): Promise<string> {
  const cli = path.join(CHECKOUT, 'tools/cli/src/main.ts')
  const env = { ...inheritedEnvironment(), NEXTVISIT_DATA: path.join(folder, 'data') }
  const { stdout } = await promisify(execFile)(process.execPath, [cli, ...args], { env })
  return stdout
}

async function isUp(run: Run): Promise<void> {
  await expect
    .poll(() => (run.child.exitCode === null ? run.output() : 'ended'), { timeout: 120_000 })
    .toMatch(/Nextvisit answers at .*nextFeedbackId|^ended$/s)
  if (run.child.exitCode !== null) throw new Error(run.output())
}

/** Waits until nothing runs. The watchdog ends a moment after its charges. */
const nothingRuns = () => expect.poll(somethingRuns, { timeout: 60_000 }).toBe(false)

/** Returns whether a process runs whose command line or environment names the folder of this spec. */
function somethingRuns(): boolean {
  return readdirSync('/proc').some((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8') + readFileSync(`/proc/${pid}/environ`, 'utf8')
      return words.includes(folder)
    } catch {
      return false
    }
  })
}

describe('pnpm start', () => {
  it('starts everything, answers as printed, keeps its data, and stops everything', {
    timeout: 300_000,
  }, async () => {
    const partitions = { KAFKA_PARTITIONS: '4' }
    const first = start(partitions, ['--scale', 'metering=2'])
    await isUp(first)
    const key = /nv_admin_\w+/.exec(first.output())?.[0]
    await pasteCommands(first.output())
    expect(await nextvisit('env')).toContain("export KAFKA_PARTITIONS='4'\n")
    const { log } = JSON.parse(await nextvisit('status', '--json')) as { readonly log: object }
    expect(log).toMatchObject({
      services: expect.arrayContaining([expect.objectContaining({ service: 'metering', processes: 2 })]),
    })
    expect(first.output()).toContain(`\nNEXTVISIT_DATA=${folder}/data npx -y pnpm --silent nextvisit why`)

    const second = start()
    expect(await second.ended).toBe(1)
    expect(second.output()).toContain('Nextvisit is already running with this data folder')

    first.child.kill('SIGKILL')
    await first.ended
    await nothingRuns()

    const third = start(partitions)
    await isUp(third)
    expect(third.output()).toContain(key)
    await pasteCommands(third.output().replace('"newEvent":true', '"newEvent":false'))

    third.child.kill('SIGINT')
    await sleep(50)
    third.child.kill('SIGINT') // like the signals that `timeout` and npx forward
    expect(await third.ended).toBe(0)
    expect(third.output().trim()).toMatch(/Stopped\.$/)
    await nothingRuns()
    expect(existsSync(path.join(folder, 'data', 'lock'))).toBe(false)
  })

  it('explains its settings, and refuses arguments', async () => {
    const asked = start({}, ['--help'])
    expect(await asked.ended).toBe(0)
    expect(asked.output()).toContain('GATEWAY_PORT')
    expect(asked.output()).toContain('--scale metering=3')
    const refused = start({}, ['console'])
    expect(await refused.ended).toBe(2)
    expect(refused.output()).toContain("Unexpected argument 'console'")
  })

  it('names a taken gateway port', async () => {
    const server = createServer().listen(port, '127.0.0.1')
    await once(server, 'listening')
    const run = start()
    expect(await run.ended).toBe(1)
    expect(run.output().trim()).toBe(
      `✗ Port ${port} is taken by another program. Stop that one, or choose another port: GATEWAY_PORT=${port + 1} npx -y pnpm start`,
    )
    server.close()
  })

  it('names each error in a workspace file with its line', async () => {
    const file = path.join(folder, 'workspace.yaml')
    await writeFile(file, 'organizations:\n  - id: acme\n    plam: {}\n')
    const run = start({ NEXTVISIT_WORKSPACE: file })
    expect(await run.ended).toBe(1)
    expect(run.output()).toContain('The workspace file is invalid; fix it and start again:')
    expect(run.output()).toContain(`${file}:3`)
  })

  it('names the missing software without Java and Docker, and leaves nothing running', async () => {
    const run = start({ PATH: '/nonexistent' })
    expect(await run.ended).toBe(1)
    expect(run.output()).toContain('Kafka needs Java 17 or newer with Maven, or a running Docker engine')
    await nothingRuns()
  })

  it('stops everything if it is stopped during its start', async () => {
    const run = start()
    await expect.poll(() => run.output(), { timeout: 60_000 }).toContain('✓ Postgres')
    run.child.kill('SIGTERM')
    expect(await run.ended).toBe(1)
    await nothingRuns()
  })
})

/** Runs the four printed commands in a shell and compares the answers with the printed ones. */
async function pasteCommands(output: string): Promise<void> {
  const commands = [...output.matchAll(/^(curl .*?)\n\n→ (\{.*?\})$/gms)]
  expect(commands).toHaveLength(4)
  let offer: { readonly offerId?: string; readonly revision?: number } = {}
  for (const [, printed = '', answer = ''] of commands) {
    const command = printed.replace('OFFER_ID', offer.offerId ?? '').replace('REVISION', String(offer.revision))
    const { stdout } = await promisify(execFile)('sh', ['-c', command])
    const got = JSON.parse(stdout) as { readonly nextFeedback?: typeof offer }
    expect(got).toEqual(withAnything(JSON.parse(answer.replaceAll(/:(?:…|\{…\})/g, ':"…"'))))
    offer = got.nextFeedback ?? offer
  }
}

/** Replaces each `…` by a matcher of any value. */
function withAnything(value: unknown): unknown {
  if (value === '…') return expect.anything()
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, withAnything(member)]))
}
