import { tableLines } from '../output/print.ts'
import type { TableComparison } from './compare-tables.ts'
import type { ReplayOutcome } from './replay.ts'
import type { TableSource, TableSources } from '@nextvisit/consumer'

/** Formats a comparison: a table, then differing rows (key and column, never a value), then columns that were not compared. */
export function comparisonLines(
  comparisons: readonly TableComparison[],
  tableSources: TableSources,
): readonly string[] {
  const headings = ['TABLE', 'LIVE ROWS', 'REBUILT ROWS', 'LIVE UNMATCHED', 'REBUILT UNMATCHED']
  const rows = comparisons.map((one) => [one.table, one.liveRows, one.rebuiltRows, one.onlyLive, one.onlyRebuilt])
  return [
    ...tableLines(headings, rows),
    ...comparisons.flatMap(differenceLines),
    ...Object.entries(tableSources).flatMap(notComparedLines),
  ]
}

export function outcomeLine({ outcome, lockedMs, comparisons }: ReplayOutcome): string {
  const differing = comparisons.filter(({ onlyLive, onlyRebuilt }) => onlyLive + onlyRebuilt > 0).length
  const differ = differing === 1 ? '1 table differs.' : `${differing} tables differ.`
  const found = differing === 0 ? 'Rebuilt and live rows are equal.' : differ
  switch (outcome) {
    case 'compared':
      return `${found} Nothing was swapped: this was a dry run.`
    case 'refused':
      return `${found} Nothing was swapped. If the rebuilt rows are correct, use --accept-differences.`
    case 'swapped':
      return `${found} Swapped; folds waited ${Math.round(lockedMs)} ms.`
  }
}

function differenceLines({ table, examples, onlyLive, onlyRebuilt }: TableComparison): string[] {
  const lines = examples.map(
    ({ key, kind, columns }) => `  ${table} ${key}: ${kind === 'differs' ? `differs in ${columns.join(', ')}` : kind}`,
  )
  const hasMore = onlyLive + onlyRebuilt > examples.length * 2
  return hasMore ? [...lines, `  ${table}: and more`] : lines
}

function notComparedLines([table, source]: [string, TableSource]): string[] {
  const notCompared = notComparedOf(source)
  return notCompared ? [`Not compared: ${table}.${notCompared}`] : []
}

/** Returns the columns of a table that are not compared, and the reason. */
export function notComparedOf(source: TableSource | undefined): string | undefined {
  if (typeof source !== 'object' || source.notCompared === undefined) return undefined
  return Object.entries(source.notCompared)
    .map(([column, reason]) => `${column}: ${reason}`)
    .join(' ')
}
