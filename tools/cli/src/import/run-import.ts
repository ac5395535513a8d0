import { createHash } from 'node:crypto'
import { type ProjectPolicy, MAX_LINE_BYTES } from '@nextvisit/domain'
import { CliError, EXIT } from '../errors.ts'
import { type ImportState, readState, writeState } from './import-state.ts'
import { createJudge, type JudgedLine } from './judge-line.ts'
import type { KnownUsers } from './known-users.ts'
import { CHUNK_BYTES, CHUNK_RECORDS, type ImportLog, publishFacts, readImportedIds } from './publish-facts.ts'
import { openLines } from './read-lines.ts'
import { type Reject, rejectOf, rejectsFileOf, writeRejects } from './rejects.ts'

/** Maximum bytes that a record adds to its line: ids, verdicts, headers. */
const RECORD_OVERHEAD_BYTES = 1_000
const EXAMPLES = 5

interface ImportOptions {
  readonly file: string
  readonly policy: ProjectPolicy
  readonly users: KnownUsers
  readonly log: ImportLog
  /** End of the log by partition, before this import publishes. */
  readonly ends: ReadonlyMap<number, bigint>
  /** Waits while a consumer lags. */
  readonly awaitConsumers: () => Promise<void>
  /** Publishes nothing, writes no state, and writes rejects to a separate file. */
  readonly isDryRun: boolean
  readonly onProgress: (share: number, read: number) => void
}

/** Counts of an import. `read` is the sum of the others. `read` and `rejected` include earlier runs. */
export interface ImportCounts {
  readonly read: number
  /** Records published by this run. */
  readonly published: number
  /** Lines published by an earlier run, or with the id of an earlier line. */
  readonly alreadyThere: number
  readonly rejected: number
  /** The first rejects of this run. */
  readonly examples: readonly Reject[]
}

/**
 * Imports a file. After an interrupted run it continues after the last chunk with its state on disk. Records of the next
 * chunk that are already in the log are not published again.
 */
export async function runImport(options: ImportOptions): Promise<ImportCounts> {
  const { file, policy, users, log, isDryRun, onProgress } = options
  const before = isDryRun ? undefined : await readState(stateFileOf(file))
  if (before) requireSameProject(before, options)
  let state = before ?? newState(options)
  if (!before) await keep(options, state, [])
  const positions = new Map(Object.entries(state.positions).map(([partition, at]) => [Number(partition), BigInt(at)]))
  const there = before ? await readImportedIds(log.connection, positions) : new Set<string>()

  const input = await openLines(file, MAX_LINE_BYTES)
  const judge = createJudge(policy, users)
  const hash = createHash('sha256')
  let published = 0
  const examples: Reject[] = []
  let chunk: JudgedLine[] = []
  let chunkBytes = 0

  const settle = async (): Promise<void> => {
    const { facts, alreadyThere, rejects } = await sortOut(chunk, there, users)
    if (!isDryRun && facts.length > 0) {
      await options.awaitConsumers()
      await publishFacts(facts, positions, log)
    }
    published += facts.length
    examples.push(...rejects.slice(0, EXAMPLES - examples.length))
    state = {
      ...state,
      lastLine: chunk.at(-1)?.line.number ?? state.lastLine,
      sha256: hash.copy().digest('hex'),
      read: state.read + chunk.length,
      inLog: state.inLog + facts.length + alreadyThere,
      rejected: state.rejected + rejects.length,
      positions: Object.fromEntries([...positions].map(([partition, at]) => [String(partition), String(at)])),
    }
    state = await keep(options, state, rejects)
    chunk = []
    chunkBytes = 0
  }

  let isSame = before === undefined || before.lastLine === 0
  for await (const line of input.lines()) {
    hash.update(line.bytes).update('\n')
    const judged = judge(line, new Date())
    if (before && line.number <= before.lastLine) {
      isSame ||= line.number === before.lastLine && hash.copy().digest('hex') === before.sha256
      continue
    }
    if (!isSame) break
    chunk.push(judged)
    chunkBytes += line.bytes.length + RECORD_OVERHEAD_BYTES
    if (chunk.length >= CHUNK_RECORDS || chunkBytes + MAX_LINE_BYTES > CHUNK_BYTES) await settle()
    onProgress(input.share(), state.read)
  }
  if (!isSame) throw notTheFile(options)
  if (chunk.length > 0) await settle()
  return { read: state.read, published, alreadyThere: state.inLog - published, rejected: state.rejected, examples }
}

/** Sorts the lines of a chunk into facts to publish, records that are already in the log, and rejects. */
async function sortOut(chunk: readonly JudgedLine[], there: ReadonlySet<string>, users: KnownUsers) {
  const asked = chunk.flatMap((judged) => (judged.outcome === 'record' && judged.isOfUnknown ? judged.fact.userId : []))
  const found = await users.lookUp(asked)
  const facts: Extract<JudgedLine, { outcome: 'record' }>['fact'][] = []
  const rejects: Reject[] = []
  let alreadyThere = 0
  for (const judged of chunk) {
    if (judged.outcome === 'rejected') rejects.push(rejectOf(judged.line, judged.message))
    else if (judged.outcome === 'repeat' || there.has(judged.fact.id)) alreadyThere += 1
    else if (judged.isOfUnknown && !found.has(judged.fact.userId)) rejects.push(rejectOf(judged.line, USER_NOT_FOUND))
    else facts.push(judged.fact)
  }
  return { facts, alreadyThere, rejects }
}

const USER_NOT_FOUND = 'userName names an unknown user: an earlier line, or an earlier call, must identify them'

function newState({ policy: { organization, project }, ends }: ImportOptions): ImportState {
  return {
    project: `${organization}/${project}`,
    lastLine: 0,
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

function requireSameProject({ project }: ImportState, { policy, file }: ImportOptions): void {
  if (project === `${policy.organization}/${policy.project}`) return
  throw new CliError(
    `According to ${stateFileOf(file)}, ${file} was imported into ${project}. Remove the state file to import it again.`,
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
