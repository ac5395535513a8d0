import { encryptSigningSecret } from '@nextvisit/catalog'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { organizationConfig } from '@nextvisit/contracts/fixtures'
import {
  type JsonObject,
  parseApiKey,
  parseBatch,
  parseBatchItem,
  parseIdentifyBody,
  parseImportLine,
  parseJson,
  parseSegmentComMessage,
  parseTrackBody,
  parsePythonJson,
  parseUncheckedJson,
} from '@nextvisit/domain'
import { givenKeyRing } from '@nextvisit/sealing/test/given-key-ring.ts'
import { describeHostileTexts } from '@nextvisit/testing/hostile-text'
import { parsePage } from '../reads/page-query.ts'
import { createSigningSecrets } from '../ingest/signing-secrets.ts'
import { createCheckSignature } from '../ingest/user-signature.ts'
import { idempotentRequestOf } from '../idempotency/idempotent-request.ts'

const keyRing = givenKeyRing('ab'.repeat(32))
const shop = { organization: 'acme', project: 'shop' }
const apiKey = { entry: { kind: 'sdk', environment: 'P' }, project: shop } as const
const signingSecret = encryptSigningSecret('a secret', keyRing, shop)
const catalog = staticCatalog([
  organizationConfig({ id: 'acme', projects: [{ id: 'shop', requireUserSignature: true, signingSecret }] }),
])
const project = catalog.project('acme', 'shop')
const checkSignature = createCheckSignature(createSigningSecrets({ catalog, keyRing, logger: { error: () => {} } }))
const receivedMs = Date.parse('2026-11-02T10:00:00Z')
const identify = (members: object) => parseIdentifyBody({ userName: 'ada', ...members })
const track = (members: object) => parseTrackBody({ userName: 'ada', eventName: 'a', ...members }, receivedMs)
const noFields = { allowedFields: new Set<string>() }
const segment = (members: object, sentAt?: unknown) =>
  parseSegmentComMessage({ userId: 'ada', ...members }, 'identify', { sentAt, receivedMs }, noFields)
const emptyObjects = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [index.toString(36), {}]))
const wordsOf = (text: string) => text.match(/.{1,20}/gs) ?? []
function readBatch(body: JsonObject): void {
  const parsed = parseBatch(body)
  if (parsed.outcome === 'ok') for (const [index, item] of parsed.items.entries()) parseBatchItem(item, index)
}
const line = (text: string) => parseImportLine(Buffer.from(text), receivedMs)

/** The parts of a request that a caller writes; `hostile-text.unit.spec.ts` has the headers. */
describeHostileTexts({
  'X-Api-Key': { read: parseApiKey, begins: ['nv_admin_P_', 'nv_sdk_T_0000'] },
  'Idempotency-Key': {
    read: (key) => idempotentRequestOf(apiKey, { key, route: '/', bytes: Buffer.from('{}') }),
    begins: ['order'],
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
  'the messages of Segment’s API': {
    read: (text) => parsePythonJson(Buffer.from(text)),
    begins: ['', '{"batch":[NaN,', '{"batch":[{"a":"'],
    try: [
      ['{"batch":[', 'NaN,', '1]}'],
      ['{"batch":[', '-Infinity,', ''],
      ['{"batch":[', '"NaN', ''],
      ['', '-', ''],
    ],
  },
  'an item of a batch': {
    read: (text) => readBatch({ items: [text, { type: text }, { type: 'track', [text]: wordsOf(text) }] }),
    begins: ['track'],
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
      parseSegmentComMessage(
        { userId: 'ada', event: 'a', timestamp: text.slice(0, 30_000) },
        'track',
        { sentAt: text, receivedMs },
        noFields,
      ),
    begins: ['2026-11-02T10:00', '2026-11-02T10:00:00.', '2026-11-02T10:00:00.0Z'],
  },
  'a line of an import': { read: line, begins: ['{"type":"track","userName":"', '{"type":"identify","id":"'] },
})
