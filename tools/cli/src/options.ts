import { SlugId } from '@nextvisit/contracts'
import { isReceiptKey } from '@nextvisit/sealing'
import { InvalidArgumentError } from 'commander'
import { z } from 'zod'
import type { ProjectName } from './find-project.ts'

/** Parses `shop` or `acme/shop`. Without `organization`, the workspace resolves the project (`findProject`). */
export function parseProject(text: string): ProjectName {
  const parts = text.split('/')
  if (parts.length > 2 || !parts.every((part) => SlugId.safeParse(part).success))
    throw new InvalidArgumentError('It must be the id of a project, such as shop, or organization/project.')
  const [first = '', second] = parts
  return second === undefined ? { project: first } : { organization: first, project: second }
}

const INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/

/** Parses a day (from midnight UTC) or an instant with a time zone. Returns ms since the epoch. */
export function parseInstant(text: string): number {
  const instantMs = INSTANT.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(instantMs))
    throw new InvalidArgumentError('It must be a day or an instant, such as 2026-01-31 or 2026-01-31T09:30:00Z.')
  const day = text.slice(0, 10)
  // Date.parse accepts 31 February as 3 March.
  if (!z.iso.date().safeParse(day).success) throw new InvalidArgumentError(`The day ${day} does not exist.`)
  return instantMs
}

export function parseCount(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number, 1 or more.')
}

/** Parses the public key of a receipt. */
export function parseReceiptKey(text: string): string {
  if (isReceiptKey(text)) return text
  throw new InvalidArgumentError('It must be the publicKey of a receipt: 43 characters of base64url.')
}
