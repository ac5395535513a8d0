import {
  DEFAULT_ALLOWED_FIELDS,
  decodeRecord,
  encodeRecord,
  openFact,
  ProjectConfig,
  type Seal,
  SealedUserFact,
} from '@nextvisit/contracts'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkImportLine, identityOfLine, type ParsedImportLine } from '../import-line.ts'
import { importedFact } from '../imported-fact.ts'
import { EXPORT_FORMATS, type ExportFormat, parseExportLine } from './export-formats.ts'
import { createMergedUsers } from './merged-users.ts'

const RECEIVED = '2026-11-02T10:00:00.000Z'
const NOW = Date.parse(RECEIVED)
const policy = {
  organization: 'acme',
  project: 'shop',
  allowedFields: new Set(DEFAULT_ALLOWED_FIELDS),
  disabledTraits: new Set<string>(),
  disabledEvents: new Set<string>(),
  declaredTraits: new Set<string>(),
  declaredEvents: new Set<string>(),
  plan: {},
  config: ProjectConfig.parse({ id: 'shop' }),
}

const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('', 'ada', '\u0000', '\ud800', '__proto__'),
)
const time = fc.oneof(
  fc.constantFrom(
    RECEIVED,
    '2021-01-01 00:00:00.000',
    '-271821-04-20',
    '+275760-09-13T00:00:00Z',
    '9999-12-31T23:59:59+00:01',
  ),
  fc.double(),
  fc.constantFrom(1_602_611_311, 1e17, -1e17, 8.64e15, 1e308),
)
const DEEP = `${'['.repeat(20_000)}${']'.repeat(20_000)}`
const anyValue = fc.oneof(
  { weight: 10, arbitrary: fc.jsonValue() },
  { weight: 5, arbitrary: text },
  { weight: 5, arbitrary: time },
  { weight: 1, arbitrary: fc.constant(`{"a":${DEEP}}`) },
)

/** The members that a reader of a format knows. */
const members = (names: readonly string[], value: fc.Arbitrary<unknown>) =>
  fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] })
const properties = members(
  [
    'time',
    'distinct_id',
    '$insert_id',
    '$user_id',
    '$device_id',
    '$set',
    '$set_once',
    '$created',
    '$last_seen',
    '$email',
    '$browser',
    '$timezone',
    'plan',
    '__proto__',
    'a.b',
  ],
  anyValue,
)
/** Returns objects as such, as text, and as text with a deep value. */
const inAnyForm = (given: fc.Arbitrary<object>) =>
  fc.oneof(
    given,
    given.map((object) => JSON.stringify(object)),
    given.map((object) => JSON.stringify({ ...object, $insert_id: 'DEEP' }).replace('"DEEP"', DEEP)),
  )
const objects = fc.oneof({ weight: 3, arbitrary: inAnyForm(properties) }, anyValue)
const eventName = fc.oneof({ weight: 3, arbitrary: fc.constantFrom('Paid', 'x', '$set') }, anyValue)
const userName = fc.oneof({ weight: 3, arbitrary: fc.constantFrom('ada', 4) }, anyValue)
const occurredAt = fc.oneof({ weight: 3, arbitrary: fc.constant('2021-03-01T09:00:00Z') }, anyValue)
const withTime = fc
  .tuple(properties, userName, time)
  .map(([object, distinct_id, at]) => ({ ...object, distinct_id, time: at }))
const eventProperties = fc.oneof(objects, inAnyForm(withTime))

const LINES: Readonly<Record<ExportFormat, fc.Arbitrary<object>>> = {
  segment: fc.record(
    {
      type: fc.oneof({ weight: 3, arbitrary: fc.constantFrom('track', 'identify') }, anyValue),
      userId: userName,
      event: eventName,
      properties: objects,
      traits: objects,
      context: fc.oneof(members(['locale', 'timezone', 'os', 'app', 'device', 'traits'], objects), anyValue),
      messageId: anyValue,
      timestamp: occurredAt,
    },
    { requiredKeys: ['type', 'userId', 'event', 'timestamp'] },
  ),
  mixpanel: fc.oneof(
    fc.record({ event: eventName, properties: eventProperties }),
    fc.record({ $distinct_id: userName, $properties: objects }),
  ),
  amplitude: fc.record({
    event_type: eventName,
    user_id: userName,
    event_time: occurredAt,
    user_creation_time: anyValue,
    event_properties: objects,
    user_properties: objects,
    uuid: anyValue,
    os_name: anyValue,
    device_id: anyValue,
  }),
  posthog: fc.record(
    {
      event: eventName,
      distinct_id: userName,
      timestamp: occurredAt,
      properties: objects,
      person_properties: objects,
      person: fc.record({ properties: objects }),
      $set: objects,
      $set_once: objects,
      uuid: anyValue,
    },
    { requiredKeys: ['event', 'distinct_id', 'timestamp'] },
  ),
}

/** Encrypts nothing, so that the spec needs no key. */
const seal: Seal = (bytes) => ({ key: '019a4423-5b80-7cc1-8f5d-0c2f6a1b7e44', bytes })

/** Expects that consumers accept the record of a line, if it has one. Returns whether it has one. */
function expectRecord(parsed: ParsedImportLine): boolean {
  if (parsed.outcome === 'rejected') return false
  const id = '00000000-0000-5000-8000-000000000000'
  expect(identityOfLine(parsed.line)).toMatch(/^[0-9a-f]{64}$/)
  const made = importedFact(parsed.line, policy, { received: RECEIVED, recordId: () => id })
  if (made.outcome === 'rejected') return false
  const { value, headers } = encodeRecord(made.fact, { source: 'import', time: RECEIVED, seal })
  const decoded = decodeRecord(SealedUserFact, Buffer.from(value), headers)
  const opened = decoded.outcome === 'ok' ? openFact(decoded.fact, (bytes) => bytes) : decoded
  expect(opened).toMatchObject({ outcome: 'ok' })
  return true
}

describe('any line of an export', () => {
  it.each(EXPORT_FORMATS)('of %s is refused, or becomes records that consumers accept', (format) => {
    let records = 0
    const zones = fc.constantFrom('UTC', 'Europe/Berlin')
    fc.assert(
      fc.property(LINES[format], zones, (line, timeZone) => {
        const settings = { project: policy, timeZone, receivedMs: NOW }
        const parsed = parseExportLine(format, Buffer.from(JSON.stringify(line)), settings)
        if (parsed.outcome !== 'ok') return
        const users = createMergedUsers()
        users.add(parsed.user, 1)
        for (const identify of users.identifies()) {
          expect(checkImportLine(identify.members, NOW)).toMatchObject({ outcome: 'ok' })
          if (expectRecord(checkImportLine(identify.members, NOW))) records += 1
        }
        if (parsed.track && expectRecord(checkImportLine(parsed.track, NOW))) records += 1
      }),
      { numRuns: 300 },
    )
    expect(records).toBeGreaterThan(0)
  })
})
