import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit, type Document } from 'yaml'

/** Members and indexes from the top of a document down to a value. */
export type Path = readonly (string | number)[]

/** One thing that is wrong with a file, as a person is told. */
export interface Fault {
  /** First line is 1. */
  readonly line: number
  /** `organizations[0].projects[0].forms[2].id`; empty for the document itself. */
  readonly path: string
  readonly message: string
}

export interface YamlFile {
  /** Members that are null count as left out (decisions.md, Words). */
  readonly value: unknown
  /** The line of a member's name or an item; of what should hold it, where there is none. */
  readonly lineOf: (path: Path) => number
}

export type YamlOutcome =
  | ({ readonly outcome: 'ok' } & YamlFile)
  | { readonly outcome: 'invalid'; readonly faults: readonly Fault[] }

const MAX_DEPTH = 64
/** More than any workspace needs. Aliases of aliases make that many out of a few hundred bytes. */
const MAX_VALUES = 2_000_000
/** An alias may stand for a list of keys or fields; a file whose aliases multiply beyond this is an attack. */
const MAX_ALIASES = 100

/** Reads YAML 1.2 with the line of everything in it. Never throws: duplicate members, aliases that multiply and the like are faults. */
export function readYaml(text: string): YamlOutcome {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' })
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line)
  const mistakes = [...document.errors, ...document.warnings, ...aliasKeys(document)]
  if (mistakes.length > 0) {
    const firstOfLine = new Map<number, string>()
    for (const mistake of mistakes) {
      const line = lineAt(mistake.pos[0])
      if (!firstOfLine.has(line)) firstOfLine.set(line, sentenceFor(mistake.code, mistake.message))
    }
    return invalid([...firstOfLine].map(([line, message]) => ({ line, path: '', message })))
  }
  try {
    const value = withoutNulls(document.toJS({ maxAliasCount: MAX_ALIASES }), 0, { values: 0 })
    return { outcome: 'ok', value, lineOf: (path) => lineAt(offsetOf(document, path)) }
  } catch (error) {
    return invalid([{ line: 1, path: '', message: error instanceof Error ? error.message : String(error) }])
  }
}

function sentenceFor(code: string, message: string): string {
  if (code === 'DUPLICATE_KEY') return 'this member is there twice'
  if (code === 'RESOURCE_EXHAUSTION') return 'nested too deeply'
  if (code === 'MULTIPLE_DOCS') return 'a file holds one document: remove the --- here'
  return message
}

function invalid(faults: readonly Fault[]): YamlOutcome {
  return { outcome: 'invalid', faults }
}

/** A member whose name is an alias would not be found to be there twice. */
function aliasKeys(
  document: Document,
): readonly { readonly code: string; readonly message: string; readonly pos: [number] }[] {
  const found: { code: string; message: string; pos: [number] }[] = []
  visit(document, {
    Pair: (_, { key }) => {
      if (!isAlias(key)) return
      found.push({
        code: 'ALIAS_KEY',
        message: `write the member's name in place of *${key.source}`,
        pos: [key.range?.[0] ?? 0],
      })
    },
  })
  return found
}

/** Members that are null become undefined rather than vanish, so that unknown ones are still found. */
function withoutNulls(value: unknown, depth: number, made: { values: number }): unknown {
  // Also ends at an alias that holds itself.
  if (depth > MAX_DEPTH) throw new RangeError(`nested deeper than ${MAX_DEPTH} levels`)
  made.values += 1
  if (made.values > MAX_VALUES) throw new RangeError(`its aliases make more than ${MAX_VALUES} values of it`)
  if (Array.isArray(value)) return value.map((item) => withoutNulls(item, depth + 1, made))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      member === null ? undefined : withoutNulls(member, depth + 1, made),
    ]),
  )
}

function offsetOf(document: Document, path: Path): number {
  let node: unknown = document.contents
  let offset = isNode(node) ? (node.range?.[0] ?? 0) : 0
  for (const step of path) {
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const pair = node.items.find((item) => isScalar(item.key) && String(item.key.value) === String(step))
      if (!pair) return offset
      if (isScalar(pair.key)) offset = pair.key.range?.[0] ?? offset
      node = pair.value
    } else if (isSeq(node)) {
      node = node.items[Number(step)]
      if (!isNode(node)) return offset
      offset = node.range?.[0] ?? offset
    } else {
      return offset
    }
  }
  return offset
}
