import { createHmac, timingSafeEqual } from 'node:crypto'
import { OperatorChangeActor, Uuid } from '@nextvisit/contracts'
import type { ChangeAuthor } from './change-writer.ts'

/** The variable in which the console names the person for whom it runs a command, and the change that goes on. */
export const HANDED_CHANGE_VARIABLE = 'NEXTVISIT_CHANGE'

/** Returns the value of {@link HANDED_CHANGE_VARIABLE}. Without the token that both processes hold, it proves nothing. */
export function handChange(actor: OperatorChangeActor, changeId: string, internalToken: string | undefined): string {
  const change = JSON.stringify({ changeId, actor })
  return JSON.stringify({ change, ...(internalToken !== undefined && { proof: proofOf(change, internalToken) }) })
}

/**
 * Returns the person in the console for whom this command runs. Without a proof by the same token, the name is a claim.
 * undefined: the value is malformed, or names another kind of actor.
 */
export function takeChange(value: string, internalToken: string | undefined): ChangeAuthor | undefined {
  const { change, proof } = membersOf(value)
  if (typeof change !== 'string') return undefined
  const given = membersOf(change)
  const [changeId, actor] = [Uuid.safeParse(given['changeId']), OperatorChangeActor.safeParse(given['actor'])]
  if (!changeId.success || !actor.success || actor.data.kind !== 'console') return undefined
  const isProved = internalToken !== undefined && isEqual(proof, proofOf(change, internalToken))
  return { changeId: changeId.data, actor: { ...actor.data, isVerified: isProved && actor.data.isVerified } }
}

function proofOf(change: string, internalToken: string): string {
  return createHmac('sha256', internalToken).update(`${HANDED_CHANGE_VARIABLE}:${change}`).digest('hex')
}

function isEqual(given: unknown, expected: string): boolean {
  if (typeof given !== 'string' || given.length !== expected.length) return false
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

function membersOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(text)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {}
  } catch {
    return {}
  }
}
