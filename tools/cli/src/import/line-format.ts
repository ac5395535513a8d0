import {
  checkImportLine,
  createMergedUsers,
  EXPORT_FORMATS,
  type ExportFormat,
  type ExportSettings,
  inWordsOf,
  MAX_EXPORT_LINE_BYTES,
  MAX_LINE_BYTES,
  parseExportLine,
  parseImportLine,
  type SkipReason,
} from '@nextvisit/domain'
import type { ParsedLine } from './judge-line.ts'
import { type LineOptions, openLines } from './read-lines.ts'

/** `nextvisit` is our own format, the others are export formats of other products. */
export const LINE_FORMATS = ['nextvisit', ...EXPORT_FORMATS] as const
export type LineFormat = (typeof LINE_FORMATS)[number]

/** A count of lines, or of values in lines, and the first such line. */
export interface Tally {
  readonly count: number
  readonly firstLine: number
}

/** Figures of an export for the report. */
export interface ExportSummary {
  readonly users: number
  /** Number of its last line. */
  readonly lastLine: number
  /** Lines that tell only about their user. */
  readonly aboutUsers: number
  readonly skipped: ReadonlyMap<SkipReason, Tally>
  /** Traits that no trait can hold. */
  readonly droppedTraits: Tally
}

/** The format of an import's lines. */
export interface LineReader {
  readonly lineOptions: LineOptions
  readonly parse: (bytes: Uint8Array, receivedMs: number) => ParsedLine
  /** Of an export: the identifies of its users, which come before all lines. */
  readonly users?: {
    readonly summary: ExportSummary
    /** Returns the identifies with the last line that their user occurs in. */
    readonly identifies: () => Iterable<{
      readonly lastLine: number
      readonly bytes: Buffer
      readonly parsed: ParsedLine
    }>
  }
}

/** Creates the reader of a format. Reads an export once from beginning to end, because its users come before its events. */
export async function createLineReader(
  file: string,
  format: LineFormat,
  settings: ExportSettings,
  onProgress: (share: number, read: number) => void,
): Promise<LineReader> {
  if (format === 'nextvisit') return { lineOptions: { maxBytes: MAX_LINE_BYTES }, parse: parseImportLine }
  const lineOptions = { maxBytes: MAX_EXPORT_LINE_BYTES, mayBeArray: true }
  const merged = createMergedUsers()
  const skipped = new Map<SkipReason, Tally>()
  let lastLine = 0
  let aboutUsers = 0
  let droppedTraits: Tally = { count: 0, firstLine: 0 }
  const input = await openLines(file, lineOptions)
  for await (const { bytes, number } of input.lines()) {
    onProgress(input.share(), number)
    lastLine = number
    const line = parseExportLine(format, bytes, settings)
    if (line.outcome === 'skipped') skipped.set(line.reason, raised(skipped.get(line.reason), number, 1))
    if (line.outcome !== 'ok') continue
    merged.add(line.user, number)
    if (!line.track) aboutUsers += 1
    if (line.user.droppedTraits > 0) droppedTraits = raised(droppedTraits, number, line.user.droppedTraits)
  }
  return {
    lineOptions,
    parse: (bytes, receivedMs) => parseTrackOf(format, bytes, settings, receivedMs),
    users: {
      summary: { users: merged.count(), lastLine, aboutUsers, skipped, droppedTraits },
      identifies: function* () {
        for (const { members, lastLine: occursIn } of merged.identifies()) {
          const parsed = checkImportLine(members, settings.receivedMs)
          yield { lastLine: occursIn, bytes: Buffer.from(JSON.stringify(members)), parsed }
        }
      },
    },
  }
}

function parseTrackOf(
  format: ExportFormat,
  bytes: Uint8Array,
  settings: ExportSettings,
  receivedMs: number,
): ParsedLine {
  const line = parseExportLine(format, bytes, settings)
  if (line.outcome === 'rejected') return line
  if (line.outcome === 'skipped' || !line.track) return { outcome: 'no-record' }
  return inWordsOf(format, checkImportLine(line.track, receivedMs))
}

function raised(before: Tally | undefined, firstLine: number, by: number): Tally {
  return before && before.count > 0 ? { ...before, count: before.count + by } : { count: by, firstLine }
}
