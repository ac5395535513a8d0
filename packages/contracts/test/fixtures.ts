import { createHash, randomUUID } from 'node:crypto'
import type { z } from 'zod'
import type { EventTracked, IdentifyRequested, VisitAnswered } from '../src/records/user-events.ts'
import { OrganizationConfig } from '../src/workspace/organization-config.ts'

/** Fixtures of records. Each function returns a valid fact, and its argument overrides members. */

const INSTANT = '2026-11-02T10:00:00.000Z'

function stableUuid(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Returns equal ids for equal names. A replacement for the real derivation. */
export function userIdFixture(userName: string): string {
  return stableUuid(`user/${userName}`)
}

function common(userName: string) {
  return {
    id: randomUUID(),
    organization: 'acme',
    project: 'shop',
    userId: userIdFixture(userName),
    received: INSTANT,
    environment: 'P' as const,
    source: 'admin' as const,
    keyed: false,
    userName,
    unchecked: [],
  }
}

export function identifyRequested(special: Partial<IdentifyRequested> = {}): IdentifyRequested {
  return {
    type: 'IdentifyRequested',
    ...common(special.userName ?? 'ada'),
    operations: {},
    device: {},
    registeredTraits: [],
    strippedTraits: [],
    droppedTraits: [],
    filteredFields: [],
    ...special,
  }
}

/** Returns a visit: an identify with a publishable key. */
export function visit(special: Partial<IdentifyRequested> = {}): IdentifyRequested {
  return identifyRequested({ source: 'sdk', ...special })
}

export function eventTracked(special: Partial<EventTracked> = {}): EventTracked {
  const received = special.received ?? INSTANT
  const eventName = special.eventName ?? 'Checkout Completed'
  return {
    type: 'EventTracked',
    ...common(special.userName ?? 'ada'),
    eventName,
    slug: eventName.toLowerCase().replace(/[^a-z0-9]+/g, '_'),
    occurredAt: received,
    newEvent: false,
    metered: true,
    evaluateTriggers: true,
    ...special,
  }
}

export function visitAnswered(
  special: Partial<VisitAnswered> & Pick<VisitAnswered, 'visitId' | 'queuedId' | 'formId'>,
): VisitAnswered {
  const { environment: _e, source: _s, keyed: _k, userName: _u, unchecked: _c, ...facts } = common('ada')
  return { type: 'VisitAnswered', ...facts, ...special }
}

/** Returns an organization `acme` with the project `shop` and defaults for everything else. */
export function organizationConfig(special?: z.input<typeof OrganizationConfig>): OrganizationConfig {
  return OrganizationConfig.parse(special ?? { id: 'acme', projects: [{ id: 'shop' }] })
}
