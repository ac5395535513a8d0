import type { LetterSelection } from '@nextvisit/consumer'
import { CliError, EXIT } from '../errors.ts'

export interface SelectionFlags {
  readonly service: string
  readonly id?: readonly string[]
  readonly cause?: string
  readonly all?: true
}

/** Exactly one of `--id`, `--cause` and `--all`: nothing is retried or discarded because a flag was forgotten. */
export function selectionOf({ service, id, cause, all }: SelectionFlags): LetterSelection {
  const given = [id, cause, all].filter((flag) => flag !== undefined)
  if (given.length !== 1) {
    throw new CliError('Say which: --id (as often as needed), --cause or --all; one of them.', EXIT.usage)
  }
  if (id) return { by: 'ids', ids: id.map((one) => idOf(one, service)) }
  return cause === undefined ? { by: 'all' } : { by: 'cause', cause }
}

/** A dead letter as `list` names it, `metering/12`, or by its number alone. */
export function idOf(text: string, service: string): string {
  const [, named, number] = /^(?:([a-z-]+)\/)?(\d{1,18})$/.exec(text) ?? []
  if (number === undefined || (named !== undefined && named !== service)) {
    throw new CliError(`${text} is no dead letter of ${service}; nextvisit dead-letters list names them.`, EXIT.usage)
  }
  return number
}

/** `metering/12` → its two parts. */
export function letterNamed(text: string): { readonly service: string; readonly id: string } {
  const [, service, id] = /^([a-z-]+)\/(\d{1,18})$/.exec(text) ?? []
  if (service === undefined || id === undefined) {
    throw new CliError(`${text} does not name a dead letter; list shows names like metering/12.`, EXIT.usage)
  }
  return { service, id }
}
