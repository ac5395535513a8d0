import type { Findings } from './findings.ts'

/** What a column holds: numbers and instants may be shown, texts and members of maps may not. */
export type Cell = string | number | null | ReadonlyMap<string, unknown>
type Cells = Readonly<Record<string, Cell>>

export interface Comparison<Expected, Row> {
  /** Schema and table: `users.user_events`. */
  readonly table: string
  /** What the log says, by key. Emptied by the comparison. */
  readonly expected: Map<string, Expected>
  /** Default: all members. */
  readonly cellsOf?: (expected: Expected) => Cells
  readonly rows: AsyncIterable<Row>
  readonly keyOf: (row: Row) => string
  /** Default: all columns. */
  readonly foundIn?: (row: Row) => Cells
  /** Cells that cannot be known from the log alone. */
  readonly isUnknowable?: (key: string, column: string) => boolean
  readonly findings: Findings
}

/** Compares each row of a table with what it must be: reports what differs, what is missing, and what is not in the log. */
export async function compareRows<Expected, Row>(comparison: Comparison<Expected, Row>): Promise<void> {
  const { table, expected, rows, keyOf, isUnknowable, findings } = comparison
  const { cellsOf = allCells, foundIn = allCells } = comparison
  for await (const row of rows) {
    const key = keyOf(row)
    const one = expected.get(key)
    if (one === undefined) {
      findings.add(`${table}: not in the log`, key, 'is there, and no record says so')
      continue
    }
    expected.delete(key)
    const found = foundIn(row)
    for (const [column, cell] of Object.entries<Cell>(cellsOf(one))) {
      if (isUnknowable?.(key, column)) continue
      for (const says of differencesOf(cell, found[column] ?? null)) findings.add(`${table}: ${column}`, key, says)
    }
  }
  for (const key of expected.keys()) findings.add(`${table}: missing`, key, 'is not there, and the log says it is')
  expected.clear()
}

function allCells(row: unknown): Cells {
  return row as Cells
}

function differencesOf(expected: Cell, found: Cell): string[] {
  if (expected instanceof Map && found instanceof Map) return differentMembers(expected, found)
  if (expected === found) return []
  if (isShown(expected) && isShown(found)) return [`${String(found)} instead of ${String(expected)}`]
  return ['is another than the log says']
}

function differentMembers(expected: ReadonlyMap<string, unknown>, found: ReadonlyMap<string, unknown>): string[] {
  const lost = [...expected.keys()].filter((name) => !found.has(name)).map((name) => `${name} is lost`)
  const extra = [...found.keys()].filter((name) => !expected.has(name)).map((name) => `${name} is nowhere in the log`)
  const other = [...expected].filter(([name, value]) => found.has(name) && !isSameJson(value, found.get(name)))
  return [...lost, ...extra, ...other.map(([name]) => `${name} has another value than the log says`)]
}

/** As Postgres keeps it: -0 is 0. */
function isSameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function isShown(cell: Cell): cell is string | number | null {
  return (
    typeof cell === 'number' || cell === null || (typeof cell === 'string' && /^\d{4}-\d\d(-\d\dT.*Z)?$/.test(cell))
  )
}

/** The cells of a user's row. Traits and device facts come as JSON text, so that every slug survives. */
export function userCells(row: { readonly traits: string; readonly device: string }): Cells {
  return { ...row, traits: membersOf(row.traits), device: membersOf(row.device) }
}

function membersOf(json: string): Map<string, unknown> {
  return new Map(Object.entries(JSON.parse(json) as Record<string, unknown>))
}
