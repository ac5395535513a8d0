import type { WorkspaceFault } from '@nextvisit/contracts'
import { markInexactNumbers } from '@nextvisit/domain'
import { isAlias, isMap, isNode, isScalar, isSeq, LineCounter, parseDocument, visit, type Document } from 'yaml'

/** Path of members and indexes from the top of a document to a value. */
export type Path = readonly (string | number)[]

type YamlOutcome =
  | {
      readonly outcome: 'ok'
      /** Parsed value. Members that are null count as absent (decisions.md, Words). */
      readonly value: unknown
      /** Returns the line of a member's name or an item; if it is absent, that of its parent. */
      readonly lineOf: (path: Path) => number
    }
  | { readonly outcome: 'invalid'; readonly faults: readonly WorkspaceFault[] }

const MAX_DEPTH = 64
/** Maximum number of values. Nested aliases can expand a few hundred bytes beyond it. */
const MAX_VALUES = 2_000_000
/** Maximum expansion of aliases, which may be lists of keys or fields. A larger expansion is an attack. */
const MAX_ALIASES = 100

/** Reads YAML 1.2 with line numbers. Never throws: duplicate members, exploding aliases and the like are faults. */
export function readYaml(text: string): YamlOutcome {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' })
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line)
  const mistakes = [...document.errors, ...document.warnings, ...aliasKeys(document), ...roundedNumbers(document)]
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
  if (code === 'DUPLICATE_KEY') return 'this member is duplicated'
  if (code === 'RESOURCE_EXHAUSTION') return 'nested too deeply'
  if (code === 'MULTIPLE_DOCS') return 'a file has only one document: remove the --- here'
  return message
}

function invalid(faults: readonly WorkspaceFault[]): YamlOutcome {
  return { outcome: 'invalid', faults }
}

interface YamlMistake {
  readonly code: string
  readonly message: string
  readonly pos: readonly [number]
}

/** Reports numbers that would be rounded. No trait or property can have such a number, either. */
function roundedNumbers(document: Document): readonly YamlMistake[] {
  const found: YamlMistake[] = []
  visit(document, {
    Scalar: (_, { value, source, range }) => {
      if (typeof value !== 'number' || source === undefined || markInexactNumbers(source) === source) return
      const message = `${source} would be rounded to ${value}: write it as text, in quotes`
      found.push({ code: 'ROUNDED_NUMBER', message, pos: [range?.[0] ?? 0] })
    },
  })
  return found
}

/** Reports members whose name is an alias, because their duplicates would not be detected. */
function aliasKeys(document: Document): readonly YamlMistake[] {
  const found: YamlMistake[] = []
  visit(document, {
    Pair: (_, { key }) => {
      if (!isAlias(key)) return
      found.push({
        code: 'ALIAS_KEY',
        message: `write the name of the member instead of *${key.source}`,
        pos: [key.range?.[0] ?? 0],
      })
    },
  })
  return found
}

/** Turns null members into undefined instead of removing them, so that unknown ones are still reported. */
function withoutNulls(value: unknown, depth: number, made: { values: number }): unknown {
  // Also stops at an alias that contains itself.
  if (depth > MAX_DEPTH) throw new RangeError(`nested deeper than ${MAX_DEPTH} levels`)
  made.values += 1
  if (made.values > MAX_VALUES) throw new RangeError(`its aliases expand to more than ${MAX_VALUES} values`)
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
