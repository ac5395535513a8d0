/** A cell. null and undefined are empty. */
export type Cell = string | number | boolean | null | undefined

/**
 * First characters that a spreadsheet reads as the beginning of a formula, also in their full-width forms. Of a tab or a line break,
 * some spreadsheets read the character after it.
 */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/
const QUOTED = /[",;\t\r\n]|^\s|\s$/

/**
 * Formats a line of CSV (RFC 4180). A text that a spreadsheet would compute begins with an apostrophe. Numbers and booleans
 * are no formulas.
 */
export function csvLine(cells: readonly Cell[]): string {
  return `${cells.map(cellText).join(',')}\r\n`
}

function cellText(cell: Cell): string {
  if (cell === null || cell === undefined) return ''
  if (typeof cell !== 'string') return String(cell)
  const harmless = FORMULA.test(cell) ? `'${cell}` : cell
  return QUOTED.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
