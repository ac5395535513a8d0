import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { csvLine } from './csv.ts'

/** Reads a line of CSV by RFC 4180. */
function parseLine(line: string): readonly string[] {
  expect(line.endsWith('\r\n')).toBe(true)
  const cells = line.slice(0, -2).matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",\r\n]*))/g)
  return Array.from(cells, ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '')
}

/**
 * Reads lines of CSV as spreadsheets do: cells end at the separator, or, outside of quotes, at a line break. Only a quote at the start of a
 * cell opens a quoted part.
 */
function readCells(csv: string, separator: string): readonly string[] {
  const cells: string[] = []
  let cell = ''
  let isQuoted = false
  let isStart = true
  for (let at = 0; at < csv.length; at++) {
    const character = csv[at] as string
    const ends = character === separator || character === '\r' || character === '\n'
    if (isQuoted && character === '"' && csv[at + 1] === '"') cell += csv[++at]
    else if (character === '"' && (isQuoted || isStart)) isQuoted = !isQuoted
    else if (ends && !isQuoted) {
      cells.push(cell)
      cell = ''
    } else cell += character
    isStart = ends && !isQuoted
  }
  return [...cells, cell]
}

const IS_FORMULA = /^[\s"]*[=+\-@＝＋－＠]/
const hostileText = fc.string({ unit: fc.constantFrom(...Array.from('a",;\r\n\t=+-@＝ 😀\'<')), maxLength: 8 })
const hostileLines = fc.array(fc.array(hostileText, { maxLength: 5 }), { maxLength: 3 })
const withoutApostrophes = (text: string) => text.replaceAll(/'(?=[=+\-@＝])/g, '')

describe('a line of CSV', () => {
  it('gives each text back, apart from the apostrophes of formulas', () => {
    fc.assert(
      fc.property(fc.array(hostileText, { maxLength: 5 }), (texts) => {
        // The parser of this spec takes a first empty cell for the beginning of the line.
        const cells = parseLine(csvLine(['id', ...texts]))
        expect(cells.map(withoutApostrophes)).toEqual(['id', ...texts].map(withoutApostrophes))
      }),
    )
  })

  it.each([',', ';', '\t'])('has no formula for a spreadsheet that separates cells by %j', (separator) => {
    fc.assert(
      fc.property(hostileLines, (lines) => {
        const csv = lines.map((texts) => csvLine(['id', ...texts])).join('')
        expect(readCells(csv, separator).filter((cell) => IS_FORMULA.test(cell))).toEqual([])
      }),
      { numRuns: 1_000 },
    )
  })

  it('has no formula for a spreadsheet that knows no quotes', () => {
    fc.assert(
      fc.property(hostileLines, (lines) => {
        const csv = lines.map((texts) => csvLine(['id', ...texts])).join('')
        expect(csv.split(/[;\t\r\n]/).filter((cell) => IS_FORMULA.test(cell))).toEqual([])
      }),
      { numRuns: 1_000 },
    )
  })

  it('takes a time that grows with the length of a text alone', () => {
    const text = '\t;" '.repeat(250_000)
    expect(csvLine([text, `${text}=`])).toHaveLength(2 * 1_250_000 + 9)
  })

  it.each([
    ['=1+1', `'=1+1`],
    ['+49 30 1234', `'+49 30 1234`],
    ['-2', `'-2`],
    ['@SUM(A1)', `'@SUM(A1)`],
    ['\t=1', `"\t'=1"`],
    ['\r=1', `"\r'=1"`],
    ['\n=1', `"\n'=1"`],
    [' =1', `" '=1"`],
    ['\u200B=1', `\u200B'=1`],
    ['x;=1+1', `"x;'=1+1"`],
    ['x;"=1+1"', `"x;""'=1+1"""`],
    ['x\t@SUM(A1)', `"x\t'@SUM(A1)"`],
    ['good:\n- fast\n- cheap', `"good:\n'- fast\n'- cheap"`],
    ['x; y=1', '"x; y=1"'],
    ['＝1', `'＝1`],
    ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
    ['1=1', '1=1'],
    ['<script>alert(1)</script> 😀', '<script>alert(1)</script> 😀'],
    ['a "b", c', '"a ""b"", c"'],
    [' two\r\nlines ', '" two\r\nlines "'],
    ['', ''],
  ])('writes the text %j as %j', (text, cell) => expect(csvLine([text])).toBe(`${cell}\r\n`))

  it('writes numbers, booleans and missing values as they are', () => {
    expect(csvLine([-1, 0, true, false, null, undefined, 'x'])).toBe('-1,0,true,false,,,x\r\n')
  })
})
