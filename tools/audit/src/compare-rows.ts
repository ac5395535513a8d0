import type { Findings } from './findings.ts'

/** Value of a column. Findings may show numbers and instants, but not texts and members of maps. */
type Cell = string | number | null | ReadonlyMap<string, unknown>
type Cells = Readonly<Record<string, Cell>>

interface Comparison<Expected, Row> {
  /** Schema and table, such as `users.user_events`. */
  readonly table: string
  /** Expected rows by key. The comparison empties it. */
  readonly expected: Map<string, Expected>
  /** Returns the cells of an expected row. Default: all members. */
  readonly cellsOf?: (expected: Expected) => Cells
  readonly rows: AsyncIterable<Row>
  readonly keyOf: (row: Row) => string
  /** Returns the cells of a found row. Default: all columns. */
  readonly foundIn?: (row: Row) => Cells
  /** Returns whether a cell cannot be derived from the log. */
  readonly isUnknowable?: (key: string, column: string) => boolean
  /** Returns whether a row, found or expected, is not compared. */
  readonly isSkipped?: (key: string) => boolean
  /** Returns the name of a row in findings. Default: its key. */
  readonly aboutOf?: (key: string) => string
  readonly findings: Findings
}

/** Compares the rows of a table with the expected ones: reports differing and missing rows, and rows that are not in the log. */
export async function compareRows<Expected, Row>(comparison: Comparison<Expected, Row>): Promise<void> {
  const { table, expected, rows, keyOf, isUnknowable, findings } = comparison
  const { cellsOf = allCells, foundIn = allCells, isSkipped, aboutOf = (key) => key } = comparison
  for await (const row of rows) {
    const key = keyOf(row)
    if (isSkipped?.(key)) continue
    const one = expected.get(key)
    if (one === undefined) {
      findings.add(`${table}: not in the log`, aboutOf(key), 'exists, but no record accounts for it')
      continue
    }
    expected.delete(key)
    const found = foundIn(row)
    for (const [column, cell] of Object.entries<Cell>(cellsOf(one))) {
      if (isUnknowable?.(key, column)) continue
      for (const says of differencesOf(cell, found[column] ?? null))
        findings.add(`${table}: ${column}`, aboutOf(key), says)
    }
  }
  for (const key of expected.keys()) {
    if (!isSkipped?.(key)) findings.add(`${table}: missing`, aboutOf(key), 'is missing, but a record accounts for it')
  }
  expected.clear()
}

function allCells(row: unknown): Cells {
  return row as Cells
}

function differencesOf(expected: Cell, found: Cell): string[] {
  if (expected instanceof Map && found instanceof Map) return differentMembers(expected, found)
  if (expected === found) return []
  if (isShown(expected) && isShown(found)) return [`${String(found)} instead of ${String(expected)}`]
  return ['differs from the log']
}

function differentMembers(expected: ReadonlyMap<string, unknown>, found: ReadonlyMap<string, unknown>): string[] {
  const lost = [...expected.keys()].filter((name) => !found.has(name)).map((name) => `${name} is missing`)
  const extra = [...found.keys()].filter((name) => !expected.has(name)).map((name) => `${name} is not in the log`)
  const other = [...expected].filter(([name, value]) => found.has(name) && !isSameJson(value, found.get(name)))
  return [...lost, ...extra, ...other.map(([name]) => `${name} differs from the log`)]
}

/** Compares values as stored by Postgres: -0 equals 0. */
function isSameJson(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function isShown(cell: Cell): cell is string | number | null {
  return (
    typeof cell === 'number' || cell === null || (typeof cell === 'string' && /^\d{4}-\d\d(-\d\dT.*Z)?$/.test(cell))
  )
}

/** Returns the cells of a user's row. Traits and device facts are JSON text, so that every slug survives. */
export function userCells(row: { readonly traits: string; readonly device: string }): Cells {
  return { ...row, traits: membersOf(row.traits), device: membersOf(row.device) }
}

function membersOf(json: string): Map<string, unknown> {
  return new Map(Object.entries(JSON.parse(json) as Record<string, unknown>))
}
