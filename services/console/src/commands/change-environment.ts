import { HANDED_CHANGE_VARIABLE, handChange } from '@nextvisit/operator-changes'
import type { Actor } from '../http/actor.ts'
import { changeActorOf } from '../http/recording-change.ts'

/**
 * Returns the variable that tells a command for whom it runs. The command records its change, so a change on a terminal and one
 * from here are written by the same code. Without `INTERNAL_TOKEN` in its environment, the command takes the name for a claim.
 */
export function changeEnvironment(
  person: Actor,
  changeId: string,
  environment: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  return { [HANDED_CHANGE_VARIABLE]: handChange(changeActorOf(person), changeId, environment['INTERNAL_TOKEN']) }
}
