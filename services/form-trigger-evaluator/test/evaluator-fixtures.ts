import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { Recorded, TickContext } from '@nextvisit/consumer'
import { type Form, OrganizationConfig, type ProjectConfig, TOPICS, type UserFact } from '@nextvisit/contracts'
import { NO_PAST } from '@nextvisit/testing'

/** Fixtures of the specs: a call returns a valid part, changed by its argument. */

export const START = Date.parse('2026-11-02T10:00:00.000Z')
export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const PARTITION = 3
export const GATEWAY = 'nextvisit:replies:gateway-1'

/** Returns the instant of a record, ms after the start of the story. */
export function at(ms: number): string {
  return new Date(START + ms).toISOString()
}

/** The form of most stories: queued by a checkout, once. */
export const nps: Partial<Form> = { id: 'nps', triggers: [{ event: 'Checkout Completed' }] }

/** Returns the context of a fold with acme's shop and these forms. */
export function contextOf(forms: readonly Partial<Form>[], project: Partial<ProjectConfig> = {}): TickContext {
  const config = OrganizationConfig.parse({ id: 'acme', projects: [{ id: 'shop', ...project, forms }] })
  return { catalog: staticCatalog([config]), mode: 'live', partition: PARTITION, nextOffset: 0n, ...NO_PAST }
}

let offset = 0n
/** The sealed members of every answer. */
export const SEALED = { key: '019a4423-5b80-7cc1-8f5d-0c2f6a1b7e44', bytes: 'c2VhbGVk' }

/** Returns a fact with its place in the log. `replyTo`: the waiting gateway, if any. */
export function recorded(fact: UserFact, replyTo: string | undefined = GATEWAY): Recorded<UserFact> {
  offset += 1n
  const place = { topic: TOPICS.userEvents, partition: PARTITION, offset, timestampMs: START }
  return { fact, ...place, replyTo, ...(fact.type === 'AnswerGiven' && { sealed: SEALED }) }
}
