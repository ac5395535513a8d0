import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { csvLine } from './csv.ts'

/** Reads a line of CSV by RFC 4180. */
function parseLine(line: string): readonly string[] {
  expect(line.endsWith('\r\n')).toBe(true)
  const cells = line.slice(0, -2).matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^",\r\n]*))/g)
  return Array.from(cells, ([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain ?? '')
}

describe('a line of CSV', () => {
  it('gives each text back, after the apostrophe of a formula', () => {
    const text = fc.string({ unit: fc.constantFrom(...Array.from('a",;\r\n\t=+-@＝ 😀\'<')), maxLength: 8 })
    fc.assert(
      fc.property(fc.array(text, { maxLength: 5 }), (texts) => {
        // The parser of this spec takes a first empty cell for the beginning of the line.
        const cells = ['id', ...texts]
        const harmless = cells.map((cell) => (/^[=+\-@\t\r\n＝＋－＠]/.test(cell) ? `'${cell}` : cell))
        expect(parseLine(csvLine(cells))).toEqual(harmless)
      }),
    )
  })

  it.each([
    ['=1+1', `'=1+1`],
    ['+49 30 1234', `'+49 30 1234`],
    ['-2', `'-2`],
    ['@SUM(A1)', `'@SUM(A1)`],
    ['\t=1', `"'\t=1"`],
    ['\r=1', `"'\r=1"`],
    ['\n=1', `"'\n=1"`],
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
