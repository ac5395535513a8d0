import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

/** Styles text if standard output is a terminal with colours. */
export function styled(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout })
}

/** Prints one line of the result on standard output. */
export function print(line = ''): void {
  console.log(line)
}

/** Prints one line on standard error: a failure and its remedy. */
export function complain(line: string): void {
  console.error(line)
}

/** Prints rows under headings, in aligned columns; numbers are right-aligned. */
export function printTable(headings: readonly string[], rows: readonly (readonly (string | number)[])[]): void {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => String(row[column] ?? '').length)),
  )
  const lineOf = (cells: readonly (string | number)[]): string =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return typeof cell === 'number' ? String(cell).padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  print(styled('bold', lineOf(headings)))
  for (const row of rows) print(lineOf(row))
}
