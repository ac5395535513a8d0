import type { WorkspaceFault } from '@nextvisit/contracts'
import { markInexactNumbers } from '@nextvisit/domain'
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  visit,
  type YAMLMap,
} from 'yaml'

/** Path of members and indexes from the top of a document to a value. */
export type Path = readonly (string | number)[]

type YamlOutcome =
  | {
      readonly outcome: 'ok'
      /** Parsed value. Members that are null count as absent (decisions.md, Words). */
      readonly value: unknown
      /** Returns the line of a member's name or an item; if it is absent, the line of its parent. */
      readonly lineOf: (path: Path) => number
    }
  | { readonly outcome: 'invalid'; readonly faults: readonly WorkspaceFault[] }

const MAX_DEPTH = 64
/** Maximum number of values. Nested aliases can expand a few hundred bytes beyond it. */
const MAX_VALUES = 2_000_000
/** Maximum expansion of aliases, which may be lists of keys or fields. A larger expansion is an attack. */
const MAX_EXPANSION = 100
/** Maximum number of aliases. Resolving one looks through all anchors before it. */
const MAX_ALIASES = 1_000

/** Reads YAML 1.2 with line numbers. Never throws: duplicate members, exploding aliases and the like are faults. */
export function readYaml(text: string): YamlOutcome {
  const lines = new LineCounter()
  // The library's own check for duplicates compares each member with every other of its mapping.
  const options = { lineCounter: lines, prettyErrors: false, logLevel: 'error', uniqueKeys: false } as const
  const document = parseDocument(text, options)
  const lineAt = (offset: number) => Math.max(1, lines.linePos(offset).line)
  const mistakes = [...document.errors, ...document.warnings, ...findMistakes(document)]
  if (mistakes.length > 0) {
    const firstOfLine = new Map<number, string>()
    for (const mistake of mistakes) {
      const line = lineAt(mistake.pos[0])
      if (!firstOfLine.has(line)) firstOfLine.set(line, sentenceFor(mistake.code, mistake.message))
    }
    return invalid([...firstOfLine].map(([line, message]) => ({ line, path: '', message })))
  }
  try {
    const value = withoutNulls(document.toJS({ maxAliasCount: MAX_EXPANSION }), 0, { values: 0 })
    const offsetOf = createOffsets(document)
    return { outcome: 'ok', value, lineOf: (path) => lineAt(offsetOf(path)) }
  } catch (error) {
    return invalid([{ line: 1, path: '', message: error instanceof Error ? error.message : String(error) }])
  }
}

function sentenceFor(code: string, message: string): string {
  if (code === 'RESOURCE_EXHAUSTION') return 'nested too deeply'
  if (code === 'MULTIPLE_DOCS') return 'a file has only one document: remove the --- here'
  // A text that looks like a member of its own.
  if (code === 'BLOCK_AS_IMPLICIT_KEY' || code === 'BLOCK_IN_FLOW') return `${message}: quote a text that contains ": "`
  return message
}

function invalid(faults: readonly WorkspaceFault[]): YamlOutcome {
  return { outcome: 'invalid', faults }
}

interface Mistake {
  readonly code: string
  readonly message: string
  readonly pos: readonly [number]
}

/**
 * Reports duplicate members, members whose name is an alias (their duplicates would not be detected), too many aliases, and
 * numbers that would be rounded: no trait or property can have such a number, either.
 */
function findMistakes(document: Document): readonly Mistake[] {
  const found: Mistake[] = []
  let aliases = 0
  const add = (code: string, message: string, node: unknown) => {
    found.push({ code, message, pos: [isNode(node) ? (node.range?.[0] ?? 0) : 0] })
  }
  visit(document, {
    Alias: (_, alias) => {
      aliases += 1
      if (aliases === MAX_ALIASES + 1) add('TOO_MANY_ALIASES', `a file has at most ${MAX_ALIASES} aliases`, alias)
    },
    Scalar: (_, scalar) => {
      const { value, source } = scalar
      if (typeof value !== 'number' || source === undefined || isExact(source, value)) return
      const fault = Number.isFinite(value) ? `would be rounded to ${value}` : 'is too large'
      add('ROUNDED_NUMBER', `${source} ${fault}: write it as text, in quotes`, scalar)
    },
    Map: (_, { items }) => {
      const seen = new Set<string>()
      for (const { key } of items) {
        if (isAlias(key)) add('ALIAS_KEY', `write the name of the member instead of *${key.source}`, key)
        if (!isScalar(key)) continue
        const name = String(key.value)
        if (seen.has(name)) add('DUPLICATE_KEY', 'this member is duplicated', key)
        seen.add(name)
      }
    },
  })
  return found
}

/** Returns whether a number has the value that it is written with, as any number of a body must (decisions.md, Order of checks). */
function isExact(source: string, value: number): boolean {
  // `.inf` is no number that would be rounded; the rules of its member refuse it.
  if (!Number.isFinite(value)) return !/\d/.test(source)
  if (/^0[xo]/.test(source)) return BigInt(source) === BigInt(value)
  // JSON has no `+5`, `.5`, `05` and `5.`.
  const json = source
    .replace(/^[-+]/, '')
    .replace(/^(?=\.)/, '0')
    .replace(/^0+(?=\d)/, '')
    .replace(/\.(?!\d)/, '')
  return markInexactNumbers(json) === json
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

/** Creates a function that returns the offset of a path. Each mapping is indexed once, and each alias resolved once. */
function createOffsets(document: Document): (path: Path) => number {
  const pairsOf = remembered((map: YAMLMap) => {
    const named = map.items.flatMap((pair): [string, Pair][] =>
      isScalar(pair.key) ? [[String(pair.key.value), pair]] : [],
    )
    return new Map(named)
  })
  const targetOf = remembered((alias: Alias) => alias.resolve(document))

  return (path) => {
    let node: unknown = document.contents
    let offset = isNode(node) ? (node.range?.[0] ?? 0) : 0
    for (const step of path) {
      if (isAlias(node)) node = targetOf(node)
      if (isMap(node)) {
        const pair = pairsOf(node).get(String(step))
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
}

/** Computes a value once per node. */
function remembered<Node extends object, Value>(compute: (node: Node) => Value): (node: Node) => Value {
  const known = new Map<Node, Value>()
  return (node) => {
    const value = known.get(node) ?? compute(node)
    known.set(node, value)
    return value
  }
}
