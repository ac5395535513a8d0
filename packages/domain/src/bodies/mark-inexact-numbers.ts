import { endOfString } from './end-of-string.ts'

/** Text that may have a number of 16 digits or more. A double keeps any shorter one. */
const MANY_DIGITS = /\d[\d.]{15}/
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const MIN_DIGITS = 16
/** A double has at most this many significant digits. */
const MAX_DIGITS = 17
/** Longer than any finite number without a fraction. */
const MAX_LENGTH = 400
/** JSON.parse reads it as Infinity, which no rule of a body accepts. */
const INEXACT = '1e999'

const QUOTE = 0x22
const [MINUS, ZERO, NINE] = [0x2d, 0x30, 0x39]

/**
 * Replaces the numbers of a JSON text that JSON.parse would round by one that it reads as Infinity, so that the rules of the
 * body refuse the member (decisions.md, Order of checks, Numbers). Costs next to nothing for a text without 16 digits in a row.
 * Text that is no JSON stays so.
 */
export function markInexactNumbers(json: string): string {
  if (!MANY_DIGITS.test(json)) return json
  const parts: string[] = []
  let copiedTo = 0
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = endOfString(json, at)
    else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      NUMBER.lastIndex = at
      const [number = '-'] = NUMBER.exec(json) ?? []
      if (number.length >= MIN_DIGITS && !isKept(number)) {
        // With its sign, since `--1` is no JSON.
        parts.push(json.slice(copiedTo, code === MINUS ? at + 1 : at), INEXACT)
        copiedTo = at + number.length
      }
      at += number.length - 1
    }
  }
  return copiedTo === 0 ? json : parts.join('') + json.slice(copiedTo)
}

/**
 * Returns whether a double keeps a number of a JSON text. The fraction of a number may be rounded to the digits of a double.
 * A larger number must be one that a double prints: whole numbers with all their digits.
 */
function isKept(number: string): boolean {
  const value = Number(number)
  if (Math.abs(value) <= Number.MAX_SAFE_INTEGER || !Number.isFinite(value)) return true
  if (number.length > MAX_LENGTH) return false
  const digits = digitsOf(number)
  if (/^-?\d+$/.test(number)) return digitsOf(String(value)) === digits
  return digits.length <= MAX_DIGITS && digitsOf(value.toPrecision(digits.length)) === digits
}

/** Returns the significant digits of a number. */
function digitsOf(number: string): string {
  return number.replace(/e.*/i, '').replaceAll(/\D/g, '').replace(/^0+/, '').replace(/0+$/, '')
}
