import { NextvisitError } from './nextvisit-error.ts'

/** Maximum delay of `setTimeout` in ms. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** Options as untyped JavaScript may pass them. Invalid ones throw a NextvisitError. */
interface UncheckedOptions {
  readonly key: unknown
  readonly host: unknown
  readonly deadlineMs: unknown
  readonly maxQueued: unknown
  readonly maxQueuedBytes: unknown
  readonly maxBatchDelayMs: unknown
}

export function checkOptions({ key, host, maxQueued, maxQueuedBytes, ...times }: UncheckedOptions): void {
  // The message never contains the key, which is a secret even if it is invalid.
  if (typeof key !== 'string' || !/^[\x21-\x7e]+$/.test(key)) throw invalid('key must be an admin key, nv_admin_…')
  if (!isUrl(host)) throw invalid(`host must be ${hostHint(host)}`)
  for (const [name, value] of Object.entries({ maxQueued, maxQueuedBytes }))
    if (typeof value !== 'number' || !(value >= 0)) throw invalid(`${name} must be a number, 0 or more`)
  for (const [name, value] of Object.entries(times)) checkTimeMs(name, value)
}

/** Throws unless a value is a valid delay. `setTimeout` treats any other value as 1 ms. */
export function checkTimeMs(name: string, value: unknown): void {
  if (typeof value !== 'number' || !(value >= 0 && value <= LONGEST_TIMER_MS))
    throw invalid(`${name} must be a number from 0 to ${LONGEST_TIMER_MS}, not ${String(value)}`)
}

/** Throws unless an argument is an object. `takes` describes it, such as `an object with userName`. */
export function checkObject(name: string, takes: string, given: unknown): void {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw invalid(`${name} takes ${takes}, not ${kindOf(given)}`)
}

export function checkUserName(userName: unknown): void {
  if (typeof userName !== 'string') throw invalid(`userName must be a text, not ${kindOf(userName)}`)
  if (!userName.isWellFormed()) throw invalid('userName must be well-formed Unicode: it contains a lone surrogate')
}

function isUrl(host: unknown): host is string {
  return typeof host === 'string' && /^https?:\/\//i.test(host) && URL.canParse(host)
}

/** Describes a valid host; if only the scheme is missing, with the completed URL. */
function hostHint(host: unknown): string {
  const url = `https://${String(host)}`
  const example = typeof host === 'string' && /^[\w.-]+(?::\d+)?$/.test(host) ? url : 'https://nextvisit.example.com'
  return `the gateway's URL, with http:// or https:// before it, such as ${example}`
}

/** Describes the type of a value, but never the value, which may be a userName. */
function kindOf(value: unknown): string {
  return value === null || value === undefined ? String(value) : Array.isArray(value) ? 'an array' : `a ${typeof value}`
}

function invalid(message: string): NextvisitError {
  return new NextvisitError('INVALID', message)
}
