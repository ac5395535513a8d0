import { endOfString } from './end-of-string.ts'

/** A double keeps any number with fewer significant digits. */
const MIN_DIGITS = 16
/** A double has at most this many significant digits. */
const MAX_DIGITS = 17
/** Longer than any finite number without a fraction. */
const MAX_LENGTH = 400
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const WHOLE = /^-?\d+$/
/** JavaScript prints any smaller whole number with all its digits. */
const MIN_EXPONENTIAL = 1e21
/** JSON.parse reads it as Infinity, which no rule of a body accepts. */
const INEXACT = '1e999'

/** Python's `json.dumps` writes these for numbers that JSON does not have. */
const NOT_A_NUMBER = ['NaN', 'Infinity', '-Infinity']

const QUOTE = 0x22
const [UPPER_I, UPPER_N] = [0x49, 0x4e]
const [PLUS, MINUS, POINT, ZERO, NINE, LOWER_E, UPPER_E] = [0x2b, 0x2d, 0x2e, 0x30, 0x39, 0x65, 0x45]

/**
 * Replaces the numbers of a JSON text that JSON.parse would round by one that it reads as Infinity, so that the rules of the
 * body refuse the member (decisions.md, Order of checks, Numbers). Costs next to nothing for a text without 16 digits in a row.
 * Text that is no JSON stays so.
 */
export function markInexactNumbers(json: string): string {
  if (!hasManyDigits(json)) return json
  const parts: string[] = []
  let copiedTo = 0
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = endOfString(json, at)
    else if (isDigit(code) || code === MINUS) {
      const end = endOfNumber(json, at)
      if (end - at >= MIN_DIGITS && !isKept(json.slice(at, end))) {
        parts.push(json.slice(copiedTo, code === MINUS ? at + 1 : at), INEXACT)
        copiedTo = end
      }
      at = end - 1
    }
  }
  return copiedTo === 0 ? json : parts.join('') + json.slice(copiedTo)
}

/**
 * Replaces `NaN`, `Infinity` and `-Infinity` outside strings by a number that JSON.parse reads as Infinity. undefined: the text
 * has none. Text that is no JSON for another reason stays so.
 */
export function markNotANumber(text: string): string | undefined {
  const parts: string[] = []
  let copiedTo = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = endOfString(text, at)
    if (code !== UPPER_N && code !== UPPER_I && code !== MINUS) continue
    const word = NOT_A_NUMBER.find((each) => text.startsWith(each, at))
    if (word === undefined) continue
    // The spaces keep it apart from digits around it: `1NaN` is no number.
    parts.push(text.slice(copiedTo, at), ` ${INEXACT} `)
    copiedTo = at + word.length
    at = copiedTo - 1
  }
  return copiedTo === 0 ? undefined : parts.join('') + text.slice(copiedTo)
}

/** Returns whether a text has 16 digits in a row, a decimal point among them. Such a row covers every 16th character. */
function hasManyDigits(text: string): boolean {
  for (let at = MIN_DIGITS - 1; at < text.length; at += MIN_DIGITS) {
    if (!isDigitOrPoint(text.charCodeAt(at))) continue
    let [first, last] = [at, at]
    while (last - first < MIN_DIGITS && isDigitOrPoint(text.charCodeAt(first - 1))) first -= 1
    while (last - first < MIN_DIGITS && isDigitOrPoint(text.charCodeAt(last + 1))) last += 1
    if (last - first >= MIN_DIGITS - 1) return true
  }
  return false
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE
}

function isDigitOrPoint(code: number): boolean {
  return isDigit(code) || code === POINT
}

function endOfNumber(json: string, beginsAt: number): number {
  let end = beginsAt + 1
  for (; end < json.length; end += 1) {
    const code = json.charCodeAt(end)
    const isPart = isDigitOrPoint(code) || code === LOWER_E || code === UPPER_E || code === PLUS || code === MINUS
    if (!isPart) return end
  }
  return end
}

/**
 * Returns whether a double keeps a number of a JSON text. The fraction of a number may be rounded to the digits of a double.
 * A larger number must be one that a double prints: whole numbers with all their digits. True for text that is no number.
 */
function isKept(number: string): boolean {
  const value = Number(number)
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER || !Number.isFinite(value) || String(value) === number) return true
  if (!NUMBER.test(number)) return true
  const isWhole = WHOLE.test(number)
  if (number.length > MAX_LENGTH || (isWhole && Math.abs(value) < MIN_EXPONENTIAL)) return false
  const digits = digitsOf(number)
  if (isWhole) return digitsOf(String(value)) === digits
  return digits.length <= MAX_DIGITS && digitsOf(value.toPrecision(digits.length)) === digits
}

/** Returns the significant digits of a number. */
function digitsOf(number: string): string {
  const digits = number.replace(/e.*/i, '').replaceAll(/\D/g, '').replace(/^0+/, '')
  // Not by `/0+$/`, which tries each zero of a long number as the first of its last ones.
  let end = digits.length
  while (digits.charCodeAt(end - 1) === ZERO) end -= 1
  return digits.slice(0, end)
}
