import { styleText } from 'node:util'

/** Styles text if standard output is a terminal with colours. */
export function styled(style: Parameters<typeof styleText>[0], text: string): string {
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

/** Escapes the characters of a foreign text that move a terminal's cursor, reorder a line or do not show, as `\u{1b}`. */
export function escapeInvisible(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (control) => `\\u{${control.codePointAt(0)?.toString(16)}}`)
}

type Rows = readonly (readonly (string | number)[])[]

/** Prints rows under headings, in aligned columns; numbers are right-aligned. */
export function printTable(headings: readonly string[], rows: Rows): void {
  const [head = '', ...lines] = tableLines(headings, rows)
  print(styled('bold', head))
  for (const line of lines) print(line)
}

/** Formats rows under headings, in aligned columns; numbers are right-aligned. */
export function tableLines(headings: readonly string[], rows: Rows): string[] {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => String(row[column] ?? '').length)),
  )
  return [headings, ...rows].map((cells) =>
    cells
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return typeof cell === 'number' ? String(cell).padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd(),
  )
}
