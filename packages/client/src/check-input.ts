import { NextvisitError } from './nextvisit-error.ts'

/** Of `setTimeout`. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** What a program in JavaScript may give in place of what the types say. All of these throw a NextvisitError. */
export interface UncheckedOptions {
  readonly key: unknown
  readonly host: unknown
  readonly deadlineMs: unknown
  readonly maxQueued: unknown
  readonly maxBatchDelayMs: unknown
}

export function checkOptions({ key, host, maxQueued, ...times }: UncheckedOptions): void {
  // Never shown: it is a secret, whatever is wrong with it.
  if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key)) throw invalid('key must be an admin key, nv_admin_…')
  if (!isUrl(host)) throw invalid(`host must be ${hostHint(host)}`)
  if (typeof maxQueued !== 'number' || !(maxQueued >= 0)) throw invalid('maxQueued must be a number from 0 on')
  for (const [name, value] of Object.entries(times)) checkTimeMs(name, value)
}

/** `setTimeout` takes anything else for 1 ms. */
export function checkTimeMs(name: string, value: unknown): void {
  if (typeof value !== 'number' || !(value >= 0 && value <= LONGEST_TIMER_MS))
    throw invalid(`${name} must be a number from 0 to ${LONGEST_TIMER_MS}, not ${String(value)}`)
}

/** `takes`: what the function wants, such as `an object with userName`. */
export function checkObject(name: string, takes: string, given: unknown): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw invalid(`${name} takes ${takes}, not ${kindOf(given)}`)
}

export function checkUserName(userName: unknown): void {
  if (typeof userName !== 'string') throw invalid(`userName must be a text, not ${kindOf(userName)}`)
  if (!userName.isWellFormed()) throw invalid('userName must be well-formed Unicode: it has half of a surrogate pair')
}

function isUrl(host: unknown): host is string {
  return typeof host === 'string' && /^https?:\/\//i.test(host) && URL.canParse(host)
}

/** Where only the scheme is missing, the whole URL. */
function hostHint(host: unknown): string {
  const url = `https://${String(host)}`
  const example = typeof host === 'string' && /^[\w.-]+(?::\d+)?$/.test(host) ? url : 'https://nextvisit.example.com'
  return `the gateway's URL, with http:// or https:// before it, such as ${example}`
}

/** Never the value: it may be a userName. */
function kindOf(value: unknown): string {
  return value === null || value === undefined ? String(value) : Array.isArray(value) ? 'an array' : `a ${typeof value}`
}

function invalid(message: string): NextvisitError {
  return new NextvisitError('INVALID', message)
}
