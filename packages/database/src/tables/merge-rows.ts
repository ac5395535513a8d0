import type { Column } from './column-types.ts'

/**
 * The value of an existing row's column after an upsert: the new value, the sum, the greater or the lesser (null counts as
 * absent), or the old value. `leastBy`: the value of the row with the lesser values in those columns.
 */
export type OnConflict<Property extends string = string> =
  | 'replace'
  | 'add'
  | 'greatest'
  | 'least'
  | 'keep'
  | { readonly leastBy: readonly Property[] }

/** Rules by property. Default: `replace`. */
export type MergeRules = Readonly<Record<string, OnConflict | undefined>>

export type TableRow = Readonly<Record<string, unknown>>

/** Merges rows to one per key, as if each were written after the one before it. */
export function mergeRows(rows: readonly TableRow[], key: readonly string[], rules: MergeRules): readonly TableRow[] {
  const merged = new Map<string, TableRow>()
  for (const row of rows) {
    let id = ''
    // No text in Postgres contains U+0000.
    for (const property of key) id += `${String(row[property])}\u0000`
    const before = merged.get(id)
    merged.set(id, before ? mergeRow(before, row, rules) : row)
  }
  return merged.size === rows.length ? rows : [...merged.values()]
}

function mergeRow(known: TableRow, excluded: TableRow, rules: MergeRules): TableRow {
  const merged: Record<string, unknown> = { ...excluded }
  for (const [property, rule] of Object.entries(rules)) {
    if (rule) merged[property] = mergeValue(property, rule, known, excluded)
  }
  return merged
}

function mergeValue(property: string, rule: OnConflict, known: TableRow, excluded: TableRow): unknown {
  const before = known[property]
  const after = excluded[property]
  if (rule === 'replace') return after
  if (rule === 'keep') return before
  if (rule === 'add') return Number(before) + Number(after)
  if (typeof rule === 'object') return isLess(excluded, known, rule.leastBy) ? after : before
  if (before === null || before === undefined) return after
  if (after === null || after === undefined) return before
  return after < before === (rule === 'least') ? after : before
}

/** Compares two rows. Instants, ids and numbers have one form each, so they compare as in Postgres. */
function isLess(one: TableRow, other: TableRow, by: readonly string[]): boolean {
  const differing = by.find((property) => one[property] !== other[property])
  return differing !== undefined && (one[differing] as string) < (other[differing] as string)
}

/** Returns the assignments of an upsert, which merges the rows `known` and `excluded`. */
export function mergedColumns(columns: readonly Column[], key: readonly string[], rules: MergeRules): string {
  const nameOf = (property: string): string => columns.find((column) => column.property === property)?.name ?? property
  const changes = columns.flatMap(({ property, name }) => {
    const rule = rules[property] ?? 'replace'
    return key.includes(property) || rule === 'keep' ? [] : `${name} = ${mergedInSql(name, rule, nameOf)}`
  })
  return changes.join(', ')
}

function mergedInSql(name: string, rule: Exclude<OnConflict, 'keep'>, nameOf: (property: string) => string): string {
  if (rule === 'replace') return `excluded.${name}`
  if (rule === 'add') return `known.${name} + excluded.${name}`
  if (typeof rule === 'string') return `${rule}(known.${name}, excluded.${name})`
  const valuesIn = (row: string): string =>
    `(${rule.leastBy.map((property) => `${row}.${nameOf(property)}`).join(', ')})`
  return `CASE WHEN ${valuesIn('excluded')} < ${valuesIn('known')} THEN excluded.${name} ELSE known.${name} END`
}
