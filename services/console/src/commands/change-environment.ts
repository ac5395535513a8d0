import type { Actor } from '../http/actor.ts'
import { changeActorOf } from '../http/recording-change.ts'

/**
 * Returns the variable that tells a command for whom it runs. The command records its change, so a change on a terminal and one
 * from here are written by the same code.
 */
export function changeEnvironment(person: Actor, changeId: string): Readonly<Record<string, string>> {
  return { NEXTVISIT_CHANGE: JSON.stringify({ changeId, actor: changeActorOf(person) }) }
}
