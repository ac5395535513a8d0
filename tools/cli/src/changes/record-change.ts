import { hostname } from 'node:os'
import {
  type ChangeAuthor,
  type ChangeEnd,
  createChangeLog,
  HANDED_CHANGE_VARIABLE,
  takeChange,
  type WantedChange,
} from '@nextvisit/operator-changes'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { logConnection, operatingUser } from '../environment/config.ts'
import { CliError, EXIT } from '../errors.ts'

/** The name that a person gives to the commands of a shell. */
const NAME_VARIABLE = 'NEXTVISIT_ACTOR'

/** Ends a command whose change cannot be written to the log first. */
export class NotRecordedError extends CliError {
  override readonly name = 'NotRecordedError'
  override readonly code = 'CHANGE_NOT_RECORDED'
  override readonly retryable = true

  constructor() {
    super(
      'The change cannot be written to the topic operator-changes, so nothing was done: Kafka does not answer, or the topic is missing (nextvisit topics create). Try again.',
    )
  }
}

/** Returns the operator of a command: the person in the console that runs it, or the user of the shell. */
export function changeAuthor(env: EnvironmentVariables): ChangeAuthor {
  const handed = env[HANDED_CHANGE_VARIABLE]
  if (handed !== undefined) {
    const author = takeChange(handed, env['INTERNAL_TOKEN'])
    if (author) return author
    const message = `${HANDED_CHANGE_VARIABLE} is malformed. Only the console sets it: unset it. ${NAME_VARIABLE} takes your name.`
    throw new CliError(message, EXIT.usage)
  }
  const user = operatingUser()
  const name = env[NAME_VARIABLE] ?? user
  return { actor: { kind: 'command', name, isVerified: false, via: `${user}@${hostname()}` } }
}

/**
 * Makes a change of an operator once it is in the log, and writes how it ended. Throws {@link NotRecordedError} if it cannot be
 * written. `endOf`: default `made`.
 */
export async function recordChange<Result>(
  env: EnvironmentVariables,
  wanted: WantedChange | readonly WantedChange[],
  make: () => Promise<Result>,
  endOf: (result: Result, nth: number) => ChangeEnd = () => ({ outcome: 'made' }),
): Promise<Result> {
  const changes = createChangeLog(logConnection(env), { source: 'cli' })
  try {
    const all = 'kind' in wanted ? [wanted] : wanted
    const recorded = await changes.record(changeAuthor(env), all, make, endOf)
    if (recorded.outcome === 'not-recorded') throw new NotRecordedError()
    return recorded.result
  } finally {
    await changes.stop()
  }
}
