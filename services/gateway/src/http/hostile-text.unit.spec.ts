import { encryptSigningSecret, staticCatalog } from '@nextvisit/catalog'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import {
  type JsonObject,
  parseApiKey,
  parseBatch,
  parseBatchItem,
  parseIdentifyBody,
  parseImportLine,
  parseJson,
  parseSegmentMessage,
  parseTrackBody,
  parseUncheckedJson,
} from '@nextvisit/domain'
import { createCallerAddress, hasKnownEncoding, isJson, traceParentOf } from '@nextvisit/http-edge'
import { idempotentRequestOf } from '@nextvisit/idempotency'
import { parsePage, ROUTES } from '@nextvisit/public-api'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCheckSignature } from '../routes/user-signature.ts'
import { keyInHeaders, writeKeyIn } from './key-text.ts'

const SECRET_KEY = 'ab'.repeat(32)
const apiKey = { kind: 'sdk', environment: 'P' } as const
const shop = { organization: 'acme', project: 'shop' }
const signingSecret = encryptSigningSecret('a secret', SECRET_KEY, shop)
const catalog = staticCatalog([
  organizationConfig({ id: 'acme', projects: [{ id: 'shop', requireUserSignature: true, signingSecret }] }),
])
const project = catalog.project('acme', 'shop')
const checkSignature = createCheckSignature(SECRET_KEY)
const callerAddress = createCallerAddress(['10.0.0.0/8', '::1'])
const socket = { remoteAddress: '::1' }
const receivedMs = Date.parse('2026-11-02T10:00:00Z')
const identify = (members: object) => parseIdentifyBody({ userName: 'ada', ...members })
const track = (members: object) => parseTrackBody({ userName: 'ada', eventName: 'a', ...members }, receivedMs)
const noFields = { allowedFields: new Set<string>() }
const segment = (members: object, sentAt?: unknown) =>
  parseSegmentMessage({ userId: 'ada', ...members }, 'identify', { sentAt, receivedMs }, noFields)
const emptyObjects = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [index.toString(36), {}]))
const wordsOf = (text: string) => text.match(/.{1,20}/gs) ?? []
function readBatch(body: JsonObject): void {
  const parsed = parseBatch(body)
  if (parsed.outcome === 'ok') for (const [index, item] of parsed.items.entries()) parseBatchItem(item, index)
}
const line = (text: string) => parseImportLine(Buffer.from(text), receivedMs)

type Hostile = readonly [prefix: string, unit: string, suffix: string]

/** Each part of a request that a caller writes: what reads it, how a good one begins, and texts to try in any case. */
const PARTS: Readonly<
  Record<string, { read: (text: string) => unknown; begins: readonly string[]; try?: readonly Hostile[] }>
> = {
  'Content-Type': {
    read: (text) => isJson({ headers: { 'content-type': text } }),
    begins: ['application/json', 'application/json;', 'application/json; charset', 'application/json; charset="utf-8"'],
    try: [['application/json', ' ', 'x']],
  },
  'Content-Encoding': { read: (text) => hasKnownEncoding({ headers: { 'content-encoding': text } }), begins: ['gzip'] },
  'X-Api-Key': { read: parseApiKey, begins: ['nv_admin_P_', 'nv_sdk_T_0000'] },
  traceparent: {
    read: (text) => traceParentOf(text, 'id'),
    begins: ['00-', 'cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-'],
  },
  'Idempotency-Key': {
    read: (key) => idempotentRequestOf({ key, project: shop, apiKey, route: '/', bytes: Buffer.from('{}') }),
    begins: ['order'],
  },
  'X-Forwarded-For': {
    read: (text) => callerAddress({ headers: { 'x-forwarded-for': text }, socket }),
    begins: ['10.0.0.1', '[::1', 'fe80::1%', '::ffff:'],
    try: [
      ['', '::1,', ''],
      ['', '10.0.0.1,', 'x'],
      ['', ',', ''],
    ],
  },
  'the query': { read: (text) => parsePage(new URLSearchParams(text)), begins: ['limit=1', 'after=', 'after=%'] },
  JSON: {
    read: (text) => parseJson(Buffer.from(text)),
    begins: ['', '{"a":', '{"a":"', '{"a":"\\u0000"}', '{"a":['],
    try: [
      ['', '[', ''],
      ['{"a":"', '\\', ''],
      ['{"a":"', '\\u0001', '"}'],
      ['{"a":[', '"\\u0000",', '1]}'],
    ],
  },
  'the members of a body': { read: (text) => identify({ [text]: 1, userAttributes: { [text]: {} } }), begins: [''] },
  userName: { read: (userName) => identify({ userName }), begins: ['ada', ' '] },
  eventName: { read: (eventName) => track({ eventName }), begins: ['form:', 'Checkout', ' '] },
  occurredAt: {
    read: (occurredAt) => track({ occurredAt }),
    begins: ['2026-11-02T10:00', '2026-11-02T10:00:00.', '2026-11-02T10:00:00.0Z'],
    try: [['2026-11-02T10:00:00.', '0', 'x']],
  },
  'a trait': { read: (text) => identify({ userAttributes: { $set: { [text]: text } } }), begins: [''] },
  'trait operations': {
    read: (text) => identify({ userAttributes: { $unset: text.split('') } }),
    begins: [''],
    try: [['', 'a', '']],
  },
  properties: {
    read: (text) => track({ properties: { [text]: text, items: [[text], { [text]: text }] } }),
    begins: ['', 'total'],
  },
  'the members of properties': {
    read: (text) =>
      track({ properties: Object.fromEntries((text.match(/.{1,90}/gs) ?? []).map((name, n) => [name + n, [[n]]])) }),
    begins: [''],
    try: [['', 'a', '']],
  },
  $countryCode: { read: ($countryCode) => identify({ $deviceInfo: { $countryCode } }), begins: ['DE'] },
  $timezone: { read: ($timezone) => identify({ $deviceInfo: { $timezone } }), begins: ['Europe/Berlin', 'Etc/GMT+'] },
  'another device field': { read: ($deviceOs) => identify({ $deviceInfo: { $deviceOs } }), begins: ['iOS'] },
  userSignature: {
    read: (userSignature) => project && checkSignature(project, { userName: 'ada', userSignature }),
    begins: ['ab', 'ab'.repeat(32)],
  },
  'a batch': {
    read: (text) => {
      const parsed = parseUncheckedJson(Buffer.from(text))
      if (parsed.outcome === 'ok') readBatch(parsed.body)
    },
    begins: ['{"items":', '{"items":[{"type":"track",'],
    try: [
      ['{"items":[', '{},', '{}]}'],
      ['{"items":[{"type":"track","a":[', '{},', '{}]}]}'],
    ],
  },
  'an item of a batch': {
    read: (text) => readBatch({ items: [text, { type: text }, { type: 'track', [text]: wordsOf(text) }] }),
    begins: ['track'],
  },
  Authorization: {
    read: (authorization) => keyInHeaders(ROUTES.segmentBatch, { headers: { authorization } }),
    begins: ['Basic ', 'Basic bnY6', 'Basic  '],
  },
  'writeKey in a body': {
    read: (text) => writeKeyIn(Buffer.from(text)),
    begins: ['{"writeKey"', '{"writeKey":"nv_', '"writeKey":"nv_admin_P_'],
    try: [
      ['', '"writeKey"', ''],
      ['', '"writeKey":', ''],
      ['', '"writeKey":"nv_', ''],
      ['"writeKey"', ' ', 'x'],
    ],
  },
  'a message of Segment’s API': {
    read: (text) => segment({ [text]: text, type: text, traits: wordsOf(text), messageId: text }),
    begins: [''],
  },
  'traits of a message': {
    read: (text) => [
      segment({ traits: { [text.slice(0, 16_000)]: emptyObjects } }),
      segment({ traits: Object.fromEntries(wordsOf(text.slice(0, 30_000)).map((name) => [name, { [name]: {} }])) }),
    ],
    begins: ['', 'company.'],
    try: [['', 'k', '']],
  },
  'context of a message': {
    read: (text) =>
      segment({
        context: {
          locale: text.slice(0, 5_000),
          timezone: text.slice(0, 5_000),
          os: { name: text.slice(0, 5_000) },
          device: { id: text.slice(0, 5_000), type: text.slice(0, 5_000) },
        },
      }),
    begins: ['iOS', 'de-DE', 'Europe/'],
  },
  'times of a message': {
    read: (text) =>
      parseSegmentMessage(
        { userId: 'ada', event: 'a', timestamp: text.slice(0, 30_000) },
        'track',
        { sentAt: text, receivedMs },
        noFields,
      ),
    begins: ['2026-11-02T10:00', '2026-11-02T10:00:00.', '2026-11-02T10:00:00.0Z'],
  },
  'a line of an import': { read: line, begins: ['{"type":"track","userName":"', '{"type":"identify","id":"'] },
}

const unit = fc.oneof(
  fc.constantFrom(
    ' ',
    '\t',
    ';',
    ',',
    '"',
    '\\',
    '[',
    '{',
    '%',
    '0',
    'a',
    '-',
    '_',
    '.',
    ':',
    '=',
    '&',
    '\u0300',
    '😀',
  ),
  fc.string({ minLength: 1, maxLength: 3 }),
)
const suffix = fc.constantFrom('', 'x', '"', '!', 'Z', '}')

/** All texts of a part together are read in a tenth of a second. What grows with the square takes longer than a test may. */
const LENGTH = 150_000
const GIVE_UP_AFTER_MS = 15_000

function textOf([prefix, repeated, end]: Hostile): string {
  return prefix + repeated.repeat(Math.ceil(LENGTH / repeated.length)) + end
}

describe.each(Object.entries(PARTS))(
  '%s, as long and as hostile as may be',
  (_name, { read, begins, try: known = [] }) => {
    it('is read in proportion to its length, so that a far too long one is read at all', () => {
      const hostile = fc.tuple(fc.constantFrom(...begins), unit, suffix)
      const property = fc.property(hostile, (text) => void read(textOf(text)))
      const examples = known.map((text): [Hostile] => [text])
      const outcome = fc.check(property, { numRuns: 60, interruptAfterTimeLimit: GIVE_UP_AFTER_MS, examples })
      expect(outcome).toMatchObject({ failed: false, interrupted: false })
    })
  },
)
