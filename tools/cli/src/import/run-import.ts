import { createHash } from 'node:crypto'
import type { ActivityFact } from '@nextvisit/contracts'
import { MAX_LINE_BYTES, type ProjectPolicy } from '@nextvisit/domain'
import { CliError, EXIT } from '../errors.ts'
import { type ImportState, readState, writeState } from './import-state.ts'
import { addKeys, type ImportKeys } from './import-keys.ts'
import { createJudge, type JudgedLine, type ParsedLine } from './judge-line.ts'
import type { KnownUsers } from './known-users.ts'
import { createLineReader, type ExportSummary, type LineFormat, type LineReader } from './line-format.ts'
import { CHUNK_BYTES, CHUNK_RECORDS, type ImportLog, publishFacts, readImportedIds } from './publish-facts.ts'
import { type Line, openLines } from './read-lines.ts'
import { type Reject, rejectOf, rejectsFileOf, writeRejects } from './rejects.ts'

/** Maximum bytes that a record adds to its line: ids, verdicts, headers. */
const RECORD_OVERHEAD_BYTES = 1_000
/** Sealed members are base64 of the members' JSON. */
const SEALED_SHARE = 4 / 3
const EXAMPLES = 5
/** Progress is written to disk this often. After a kill, the log tells the rest. */
const KEEP_EVERY_MS = 100

interface ImportOptions {
  readonly file: string
  readonly format: LineFormat
  /** Time zone of times that a format writes without one. */
  readonly timeZone: string
  readonly policy: ProjectPolicy
  readonly users: KnownUsers
  /** Returns whether records of a user are refused (decisions.md, Erasure). Asked when the user's lines are published. */
  readonly isSuppressed: (userId: string) => boolean
  /** The keys that seal the records. Absent: this is a dry run. `encodeRecord` refuses to write a record without its key. */
  readonly keys?: ImportKeys | undefined
  readonly log: ImportLog
  /** End of the log by partition, before this import publishes. */
  readonly ends: ReadonlyMap<number, bigint>
  /** Waits while a consumer is delayed. */
  readonly pace: () => Promise<void>
  /** Publishes nothing, writes no state, and writes rejects to a separate file. */
  readonly isDryRun: boolean
  readonly onProgress: (share: number, read: number) => void
}

/** Counts of an import. `read` and `rejected` include earlier runs. */
export interface ImportCounts {
  readonly read: number
  /** Records published by this run. */
  readonly published: number
  /** Lines published by an earlier run, or with the id of an earlier line. */
  readonly alreadyThere: number
  readonly rejected: number
  /** The first rejects of this run. */
  readonly examples: readonly Reject[]
  /** Of another product's export. */
  readonly summary?: ExportSummary | undefined
}

/** Lines that are published together, and the progress once they are in the log. */
interface Chunk {
  readonly judged: readonly JudgedLine[]
  /** Absent: these are users of an export, which come before all lines. */
  readonly upTo?: Pick<ImportState, 'lastLine' | 'sha256'>
}

/**
 * Imports a file. After an interrupted run it continues after the last chunk with its state on disk. Records of the next
 * chunk that are already in the log are not published again.
 */
export async function runImport(options: ImportOptions): Promise<ImportCounts> {
  const { file, format, timeZone, policy, isDryRun, onProgress } = options
  const before = isDryRun ? undefined : await readState(stateFileOf(file))
  if (before) requireSameImport(before, options)
  const settings = { project: policy, timeZone, receivedMs: Date.now() }
  const reader = await createLineReader(file, format, settings, (share) => onProgress(share, 0))
  const writer = await createChunkWriter(options, before)
  try {
    await writeLines(options, before, reader, writer)
  } catch (error) {
    await writer.finish().catch(() => {})
    throw error
  }
  const { state, published, examples } = await writer.finish()
  const { read, rejected, inLog } = state
  return { read, published, alreadyThere: inLog - published, rejected, examples, summary: reader.users?.summary }
}

async function writeLines(
  options: ImportOptions,
  before: ImportState | undefined,
  reader: LineReader,
  writer: ChunkWriter,
): Promise<void> {
  const judge = createJudge(options.policy, options.users)
  const hash = createHash('sha256')
  const sha256 = () => hash.copy().digest('hex')
  const { lastLine = 0, usersUpTo = 0 } = before ?? {}
  let judged: JudgedLine[] = []
  let bytes = 0

  const add = async (line: Line, parsed: ParsedLine, upTo?: () => Chunk['upTo']): Promise<void> => {
    judged.push(judge(line, parsed, new Date()))
    bytes += SEALED_SHARE * line.bytes.length + RECORD_OVERHEAD_BYTES
    if (judged.length >= CHUNK_RECORDS || bytes + SEALED_SHARE * MAX_LINE_BYTES > CHUNK_BYTES) await write(upTo?.())
  }
  const write = async (upTo: Chunk['upTo']): Promise<void> => {
    const chunk = { judged, ...(upTo && { upTo }) }
    judged = []
    bytes = 0
    if (chunk.judged.length > 0) await writer.write(chunk)
  }
  const addUsers = async ({ identifies, summary }: NonNullable<LineReader['users']>): Promise<void> => {
    for (const { bytes: identify, lastLine: occursIn, parsed } of identifies()) {
      const line = { number: 0, bytes: identify }
      // An earlier run has published the others.
      if (occursIn > usersUpTo) await add(line, parsed)
      else judge(line, parsed, new Date())
    }
    await write(undefined)
    writer.noteUsers(summary.lastLine)
  }

  const input = await openLines(options.file, reader.lineOptions)
  let isSame = lastLine === 0
  let areUsersAdded = reader.users === undefined
  let number = 0
  for await (const line of input.lines()) {
    hash.update(line.bytes).update('\n')
    const parsed = reader.parse(line.bytes, Date.now())
    ;({ number } = line)
    if (number <= lastLine) {
      judge(line, parsed, new Date())
      isSame ||= number === lastLine && sha256() === before?.sha256
      continue
    }
    if (!isSame) break
    if (reader.users && !areUsersAdded) await addUsers(reader.users)
    areUsersAdded = true
    await add(line, parsed, () => ({ lastLine: number, sha256: sha256() }))
    options.onProgress(input.share(), writer.read())
  }
  if (!isSame) throw notTheFile(options)
  await write({ lastLine: number, sha256: sha256() })
}

type ChunkWriter = Awaited<ReturnType<typeof createChunkWriter>>

/** Creates the writer of chunks. The next chunk is read and judged while one is published. */
async function createChunkWriter(options: ImportOptions, before: ImportState | undefined) {
  const { log, isDryRun, pace } = options
  const examples: Reject[] = []
  let state = before ?? newState(options)
  let rejects: Reject[] = []
  let published = 0
  let keptAt = -Infinity
  if (!before) await keepNow()
  const positions = new Map(Object.entries(state.positions).map(([partition, at]) => [Number(partition), BigInt(at)]))
  const there = before ? await readImportedIds(log.connection, positions) : new Set<string>()
  let writing: Promise<void> = Promise.resolve()

  async function keepNow(): Promise<void> {
    state = await keep(options, state, rejects)
    rejects = []
    keptAt = performance.now()
  }

  async function publish({ judged, upTo }: Chunk): Promise<void> {
    // Before the lines are sorted: a user may be suppressed meanwhile.
    if (!isDryRun && judged.some(({ outcome }) => outcome === 'record')) await pace()
    const sorted = await sortOut(judged, there, options)
    const { facts, alreadyThere } = await addKeys(sorted.facts, options.keys)
    if (!isDryRun && facts.length > 0) await publishFacts(facts, positions, log)
    published += facts.length
    examples.push(...sorted.rejects.slice(0, EXAMPLES - examples.length))
    rejects.push(...sorted.rejects)
    state = {
      ...state,
      ...upTo,
      read: state.read + (upTo ? judged.length : 0),
      inLog: state.inLog + facts.length + alreadyThere + sorted.alreadyThere,
      rejected: state.rejected + sorted.rejects.length,
      positions: Object.fromEntries([...positions].map(([partition, at]) => [String(partition), String(at)])),
    }
    // After a kill, the log tells which users it has.
    if (upTo && performance.now() - keptAt >= KEEP_EVERY_MS) await keepNow()
  }

  return {
    /** Resolves once the previous chunk is written. Rejects if that failed. */
    write: async (chunk: Chunk): Promise<void> => {
      await writing
      writing = publish(chunk)
      // The next call, or `finish`, rejects.
      writing.catch(() => {})
    },
    /** Notes that the users of all lines up to this one were given to `write`. */
    noteUsers: (usersUpTo: number): void => {
      state = { ...state, usersUpTo }
    },
    finish: async () => {
      await writing
      await keepNow()
      return { state, published, examples }
    },
    read: () => state.read,
  }
}

/** Sorts the lines of a chunk into facts to publish, records that are already in the log, and rejects. */
async function sortOut(
  chunk: readonly JudgedLine[],
  there: ReadonlySet<string>,
  { users, isSuppressed, format }: Pick<ImportOptions, 'users' | 'isSuppressed' | 'format'>,
) {
  const asked = chunk.flatMap((judged) => (judged.outcome === 'record' && judged.isOfUnknown ? judged.fact.userId : []))
  const found = await users.lookUp(asked)
  const facts: ActivityFact[] = []
  const rejects: Reject[] = []
  let alreadyThere = 0
  for (const judged of chunk) {
    if (judged.outcome === 'no-record') continue
    if (judged.outcome === 'rejected') rejects.push(rejectOf(judged.line, judged.message, format))
    else if (judged.outcome === 'record' && isSuppressed(judged.fact.userId))
      rejects.push(rejectOf(judged.line, USER_SUPPRESSED, format))
    else if (judged.outcome === 'repeat' || there.has(judged.fact.id)) alreadyThere += 1
    else if (judged.isOfUnknown && !found.has(judged.fact.userId))
      rejects.push(rejectOf(judged.line, USER_NOT_FOUND, format))
    else facts.push(judged.fact)
  }
  return { facts, alreadyThere, rejects }
}

const USER_SUPPRESSED = 'User is suppressed: the user was erased, and must not return'
const USER_NOT_FOUND = 'userName names an unknown user: an earlier line, or an earlier call, must identify them'

function newState({ policy: { organization, project }, format, timeZone, ends }: ImportOptions): ImportState {
  return {
    project: `${organization}/${project}`,
    format,
    timeZone,
    lastLine: 0,
    usersUpTo: 0,
    sha256: '',
    read: 0,
    inLog: 0,
    rejected: 0,
    rejectsBytes: 0,
    positions: Object.fromEntries([...ends].map(([partition, end]) => [String(partition), String(end)])),
  }
}

/** Writes rejects, then the state. The next run overwrites rejects that the state does not include. */
async function keep(
  { file, isDryRun }: ImportOptions,
  state: ImportState,
  rejects: readonly Reject[],
): Promise<ImportState> {
  const text = rejects.map((reject) => `${JSON.stringify(reject)}\n`).join('')
  const rejectsBytes = await writeRejects(rejectsFileOf(file, isDryRun), text, state.rejectsBytes)
  const kept = { ...state, rejectsBytes }
  if (!isDryRun) await writeState(stateFileOf(file), kept)
  return kept
}

function stateFileOf(file: string): string {
  return `${file}.import-state.json`
}

function requireSameImport(state: ImportState, { policy, format, timeZone, file }: ImportOptions): void {
  const remedy = 'Remove the state file to import it again.'
  if (state.project !== `${policy.organization}/${policy.project}`)
    throw new CliError(
      `According to ${stateFileOf(file)}, ${file} was imported into ${state.project}. ${remedy}`,
      EXIT.usage,
    )
  if (state.format !== format)
    throw new CliError(
      `According to ${stateFileOf(file)}, ${file} was imported with --format ${state.format}. ${remedy}`,
      EXIT.usage,
    )
  if (state.timeZone !== timeZone)
    throw new CliError(
      `According to ${stateFileOf(file)}, ${file} was imported with --time-zone ${state.timeZone}. ${remedy}`,
      EXIT.usage,
    )
}

function notTheFile({ file }: ImportOptions): CliError {
  return new CliError(
    `${file} is not the file whose import was started: its first lines differ. Restore that file to continue, or remove ` +
      `${stateFileOf(file)} to start over; lines that are already in the log have no effect.`,
    EXIT.usage,
  )
}
