import { randomUUIDv7 } from 'node:crypto'
import { once } from 'node:events'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Logger } from '@nextvisit/service-kit'
import { changeEnvironment } from '../commands/change-environment.ts'
import { type Cli, spawnCli } from '../commands/cli-process.ts'
import { sessionFields } from '../http/app.ts'
import { answered, type ApiResult, refuse } from '../http/api-route.ts'
import { FileAnswer } from '../http/file-answer.ts'
import type { Session } from '../http/sessions.ts'
import type { UserPath } from './api.ts'

interface UserExportParts {
  /** undefined: this console starts no commands. */
  readonly cli: Cli | undefined
  /** Internal addresses of all services, and their token. */
  readonly environment: Readonly<Record<string, string>>
  readonly logger: Logger
  /** Default: {@link MAX_BYTES}. */
  readonly maxBytes?: number
}

type Spawned = NonNullable<ReturnType<typeof spawnCli>>

const NO_ROOM = refuse(503, 'no-room', 'The machine of the console has no room for another process. Try again later.')
const RUNS = refuse(
  429,
  'export-runs',
  'Another export of a person is running in this console. Try again when it has ended.',
)
/** Browsers hold a download of a page in memory or in a temporary file. The command line has no bound. */
const MAX_BYTES = 256 * 2 ** 20
const MAX_HEAP_MB = 512
/** Only the beginning of standard error is kept. */
const MAX_STDERR_CHARACTERS = 1_000

/** Done, or done without a source that the last line names. */
const ENDED: ReadonlySet<string> = new Set(['exit code 0', 'exit code 1'])

/** Creates exports of people, by `nextvisit users export` in a process of its own, one at a time. */
export function createUserExport({ cli, environment, logger, maxBytes = MAX_BYTES }: UserExportParts) {
  let running: Spawned | undefined

  /** Resolves once the first bytes are there, or the command has refused. */
  async function start(path: UserPath, session: Session): Promise<ApiResult<FileAnswer>> {
    const { organization, project, userId } = path
    const args = ['users', 'export', '--project', `${organization}/${project}`, '--user-id', userId]
    if (!cli) {
      const command = `nextvisit ${args.join(' ')}`
      return refuse(409, 'not-here', `This console starts no commands. Run this one on a terminal: ${command}`)
    }
    if (running) return RUNS
    const own = { ...environment, ...changeEnvironment(session, randomUUIDv7(), environment) }
    const child = spawnCli({ cli, args, environment: own, maxHeapMb: MAX_HEAP_MB })
    if (!child) return NO_ROOM
    running = child
    let stderr = ''
    child.stdin.on('error', () => {}).end()
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr = (stderr + text).slice(0, MAX_STDERR_CHARACTERS)
    })
    const ended = new Promise<string>((resolve) => {
      child.once('error', () => resolve('not started'))
      child.once('close', (exitCode, signal) => resolve(signal ?? `exit code ${exitCode}`))
    })
    void noteEnd(ended, path, session)
    await Promise.race([once(child.stdout, 'readable').catch(() => undefined), ended])
    if (child.stdout.readableLength === 0) {
      await ended
      // The message of the command: an unknown person, or a missing setting.
      return refuse(409, 'no-export', stderr.trim() || 'The export did not start. The log of the console says more.')
    }
    const body = boundedOutput(child, { ended, maxBytes })
    return answered(new FileAnswer({ name: `${userId}.ndjson`, contentType: 'application/x-ndjson', body }))
  }

  async function noteEnd(ended: Promise<string>, path: UserPath, session: Session): Promise<void> {
    const outcome = await ended
    running = undefined
    logger.info({ action: 'user export ended', ...sessionFields(session), ...path, outcome }, 'console action')
  }

  /** Ends the running export. */
  async function close(): Promise<void> {
    const child = running
    if (!child) return
    const ended = once(child, 'close')
    // Output that nobody reads would delay the end.
    child.stdout.destroy()
    child.kill()
    await ended
  }

  return { start, close }
}

interface Bounds {
  /** Resolves to the way in which the command ended. */
  readonly ended: Promise<string>
  readonly maxBytes: number
}

/**
 * Returns the output of a command. It fails beyond a number of bytes, and if the command dies, so that a part never looks like
 * the whole. The command ends if the reader leaves, even before the first byte.
 */
function boundedOutput(child: Spawned, { ended, maxBytes }: Bounds): Readable {
  let bytes = 0
  const output = new Transform({
    transform: (chunk: Buffer, _encoding, pass) => {
      bytes += chunk.byteLength
      pass(bytes > maxBytes ? new Error(`The export has more than ${maxBytes} bytes.`) : null, chunk)
    },
    flush: (finish) =>
      void ended.then((outcome) =>
        finish(ENDED.has(outcome) ? null : new Error(`The command ended early: ${outcome}.`)),
      ),
  })
  // The reader of the output gets the error.
  pipeline(child.stdout, output).catch(() => child.kill())
  return output
}
