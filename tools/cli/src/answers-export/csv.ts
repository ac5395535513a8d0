/** A cell. null and undefined are empty. */
export type Cell = string | number | boolean | null | undefined

/**
 * A character that begins a formula, also in its full-width form, at the start of a text or after a character at which some spreadsheets
 * begin a cell: those that separate cells by semicolons or tabs do not see the quotes of this file. White space, quotes and invisible
 * characters in between count as nothing.
 */
const FORMULA = /(?<=(?:^|[;\t\r\n])[\s"\p{Cc}\p{Cf}]*)[=+\-@＝＋－＠]/gu
const QUOTED = /[",;\t\r\n]|^\s|\s$/

/**
 * Formats a line of CSV (RFC 4180). In texts, each formula that a spreadsheet would compute has an apostrophe before it. Numbers and
 * booleans are no formulas.
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  if (typeof cell !== 'string') return String(cell)
  const harmless = cell.replaceAll(FORMULA, "'$&")
  return QUOTED.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
