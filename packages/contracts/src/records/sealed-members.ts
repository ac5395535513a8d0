import type { FormAnswered, SealedFormAnswered } from './form-events.ts'
import type { AnswerGiven, EventTracked, IdentifyRequested, Sealed } from './user-events.ts'

/** Encrypts a text with a data key of the user. The text opens in the same context only. */
export type Seal = (text: string, context: string) => Sealed

/** Names the record that sealed members belong to, so that they open in no other record. */
export function sealingContextOf({ id, userId }: { readonly id: string; readonly userId: string }): string {
  return `${id}/${userId}`
}

/**
 * Returns a fact as JSON writes it to the log: undefined members are left out, and cost less than an object without them. A fact without
 * personal members is returned unchanged.
 */
export function sealMembers(fact: { readonly type: string }, seal: Seal): object {
  if (isA<IdentifyRequested>(fact, 'IdentifyRequested')) {
    const { userName, operations, device } = fact
    const sealed = seal(JSON.stringify({ userName, operations, device }), sealingContextOf(fact))
    return { ...fact, userName: undefined, operations: undefined, device: undefined, sealed }
  }
  if (isA<EventTracked>(fact, 'EventTracked') && fact.properties !== undefined) {
    const sealed = seal(JSON.stringify({ properties: fact.properties }), sealingContextOf(fact))
    return { ...fact, properties: undefined, sealed }
  }
  if (isA<AnswerGiven>(fact, 'AnswerGiven') || isReadableOutcome(fact)) {
    const sealed = seal(JSON.stringify({ answers: fact.answers }), sealingContextOf(fact))
    return { ...fact, answers: undefined, sealed }
  }
  return fact
}

/** Returns true if a fact has members that are sealed in the log. Otherwise it needs no key. */
export function hasPersonalMembers(fact: { readonly type: string }): boolean {
  if (isA<EventTracked>(fact, 'EventTracked')) return fact.properties !== undefined
  return fact.type === 'IdentifyRequested' || fact.type === 'AnswerGiven' || isReadableOutcome(fact)
}

/** The evaluator publishes the outcome of an answer with sealed members, which it copies. */
function isReadableOutcome(fact: { readonly type: string }): fact is FormAnswered {
  return isA<FormAnswered | SealedFormAnswered>(fact, 'FormAnswered') && !('sealed' in fact)
}

function isA<Fact extends { readonly type: string }>(
  fact: { readonly type: string },
  type: Fact['type'],
): fact is Fact {
  return fact.type === type
}
