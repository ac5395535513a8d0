import type { ProjectRef } from '@nextvisit/contracts'

/** The person whose data is exported. */
export interface Person extends ProjectRef {
  readonly userId: string
  /** undefined: no identify named the user. */
  readonly userName: string | undefined
}

/** A source that could not be read, or not completely. */
interface Missing {
  readonly source: string
  readonly reason: string
}

/** Types of lines that remain of an erased person, and alone make nobody known: they name nobody. */
const TRACES: ReadonlySet<string> = new Set(['active-month', 'erasure'])

/** The project that the value of a record names, if it names one. */
export type NamedProject = { readonly [Member in keyof ProjectRef]?: unknown }

export type PersonWriter = ReturnType<typeof createPersonWriter>

interface PersonWriterParts {
  readonly person: Person
  /** Names of everything that is read. */
  readonly sources: readonly string[]
  readonly exportedAt: string
  /** Writes complete lines, with back-pressure. */
  readonly write: (text: string) => Promise<void>
}

/**
 * Writes the lines of an export. The header precedes the first line, so an unknown person leaves no output. The summary is
 * last: a file without it is truncated.
 */
export function createPersonWriter({ person, sources, exportedAt, write }: PersonWriterParts) {
  const counts = new Map<string, number>()
  const missing: Missing[] = []
  /** Sources with records that name no project, read before the person was found. */
  const leftOut = new Set<string>()
  /** Lines of {@link TRACES} before the first other line. */
  const traces: { readonly type: string; readonly line: string }[] = []
  let hasHeader = false
  /** A userName is of this project: the userId was computed from both, or the project's rows have it. */
  let isFound = person.userName !== undefined

  async function header(): Promise<void> {
    if (hasHeader) return
    hasHeader = true
    const { organization, project, userName, userId } = person
    const names = { organization, project, userName: userName ?? null, userId }
    await write(jsonLine({ type: 'export', ...names, exportedAt, sources }))
  }

  /** Writes lines of one type that are JSON already, each with its newline. */
  async function writeText(type: string, lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return
    isFound = true
    await header()
    await writeTraces()
    await write(lines.join(''))
    counts.set(type, (counts.get(type) ?? 0) + lines.length)
  }

  async function writeTraces(): Promise<void> {
    for (const { type, line } of traces.splice(0)) {
      await write(line)
      counts.set(type, (counts.get(type) ?? 0) + 1)
    }
  }

  async function writeLine(type: string, source: string, line: object): Promise<void> {
    const text = jsonLine({ type, source, ...line })
    if (TRACES.has(type) && counts.size === 0) traces.push({ type, line: text })
    else await writeText(type, [text])
  }

  /**
   * Returns whether a record or dead letter with the person's Kafka key is about the person: a userId may be of another project.
   * If its value names no project, the person must have been found in this one. Otherwise `missing` names the source.
   */
  function owns(source: string, { organization, project }: NamedProject): boolean {
    if (typeof organization === 'string' && typeof project === 'string') {
      const isOfProject = organization === person.organization && project === person.project
      isFound ||= isOfProject
      return isOfProject
    }
    if (!isFound) leftOut.add(source)
    return isFound
  }

  function allMissing(): readonly Missing[] {
    const reason = 'it lacks records that name no project: repeat the export when the user-projector knows the person'
    return isFound ? [...missing, ...[...leftOut].map((source) => ({ source, reason }))] : missing
  }

  return {
    owns,
    writeText,
    writeLine,
    /** Notes that a source is not, or not completely, in the export. */
    miss: (source: string, reason: string): void => void missing.push({ source, reason }),
    missing: allMissing,
    lineCount: (): number => [...counts.values()].reduce((sum, count) => sum + count, 0),
    /** Writes the last line. An export that lacks a source contains the traces, too. */
    end: async (): Promise<void> => {
      await header()
      await writeTraces()
      const all = allMissing()
      const summary = { counts: Object.fromEntries(counts), isComplete: all.length === 0, missing: all }
      await write(jsonLine({ type: 'summary', ...summary }))
    },
  }
}

function jsonLine(line: object): string {
  return `${JSON.stringify(line)}\n`
}
