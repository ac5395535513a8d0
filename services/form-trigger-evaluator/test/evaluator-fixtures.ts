import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import type { Recorded, TickContext } from '@nextvisit/consumer'
import { type Form, OrganizationConfig, type ProjectConfig, TOPICS, type UserFact } from '@nextvisit/contracts'

/** For the specs beside this file: one call gives a valid part, the argument says what is special about it. */

export const START = Date.parse('2026-11-02T10:00:00.000Z')
export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const PARTITION = 3
export const GATEWAY = 'nextvisit:replies:gateway-1'

/** An instant of a record, so many ms after the start of the story. */
export function at(ms: number): string {
  return new Date(START + ms).toISOString()
}

/** The form of most stories: queued by a checkout, once. */
export const nps: Partial<Form> = { id: 'nps', triggers: [{ event: 'Checkout Completed' }] }

/** The project acme/shop with these forms, as a fold sees it. */
export function contextOf(forms: readonly Partial<Form>[], project: Partial<ProjectConfig> = {}): TickContext {
  const config = OrganizationConfig.parse({ id: 'acme', projects: [{ id: 'shop', ...project, forms }] })
  return { catalog: staticCatalog([config]), isRebuild: false, partition: PARTITION }
}

let offset = 0n

/** A fact as it stands in the log. `replyTo`: the gateway that waits, unless nobody does. */
export function recorded(fact: UserFact, replyTo: string | undefined = GATEWAY): Recorded<UserFact> {
  offset += 1n
  return { fact, topic: TOPICS.userEvents, partition: PARTITION, offset, timestampMs: START, replyTo }
}
