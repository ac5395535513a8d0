import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { GATE_NAMES, RECORDS, TraitLeaf, TraitOperations } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8')
const wordsOf = (text: string): readonly string[] => text.match(/[\w$]+/g) ?? []

/** The auditor shares no code and no types with the services, so the compiler does not compare them. */
const AUDIT = 'tools/audit/src'

describe('an operator on traits', () => {
  const operators = Object.keys(TraitOperations.shape)

  it.each(['docs/spec/decisions.md', 'services/gateway/src/openapi/operations.yaml'])(
    'is in %s, in the order in which operators apply',
    (file) => {
      expect(read(file)).toContain(operators.map((operator) => `\`$${operator}\``).join(', '))
    },
  )

  it.each([`${AUDIT}/facts.ts`, `${AUDIT}/read-fact.ts`, `${AUDIT}/operate.ts`])('is in %s', (file) => {
    expect(wordsOf(read(file))).toEqual(expect.arrayContaining(operators))
  })

  it('has a case in the conformance suite', () => {
    const suite = wordsOf(read('tests/conformance/src/identify-policy.suite.ts'))
    expect(suite).toEqual(expect.arrayContaining(operators.map((operator) => `$${operator}`)))
  })
})

describe('an operator of a condition', () => {
  const operators = Object.keys(TraitLeaf.shape)

  it('is in docs/spec/forms.md', () => {
    const [row = ''] = read('docs/spec/forms.md').match(/^\| `\{ trait: slug, … \}` \|.*$/m) ?? []
    expect(wordsOf(row)).toEqual(expect.arrayContaining(operators))
  })

  it.each([`${AUDIT}/workspace-file.ts`, `${AUDIT}/condition.ts`])('is in %s', (file) => {
    expect(wordsOf(read(file))).toEqual(expect.arrayContaining(operators))
  })
})

describe('a gate', () => {
  it('has a row in docs/spec/forms.md, in the order of the checks', () => {
    const [, table = ''] = read('docs/spec/forms.md').split('| Gate | Passes when | Reason |')
    const rows = Array.from((table.split('\n\n')[0] ?? '').matchAll(/^\| (\w+) \|/gm), ([, name]) => name)
    expect(rows).toEqual(GATE_NAMES)
  })

  it('is checked again by the auditor, in the same order', () => {
    const [, order = ''] = read(`${AUDIT}/gates.ts`).match(/const TO_QUEUE\b.*= \[(.*)\]/) ?? []
    expect(['where', ...wordsOf(order)]).toEqual(GATE_NAMES)
  })
})

const typesOn = (topic: string) =>
  Object.entries(RECORDS).flatMap(([type, record]) => (record.topic === topic ? type : []))

describe('a type of record', () => {
  it.each([...new Set(Object.values(RECORDS).map(({ topic }) => topic))])(
    'on %s has its schema in docs/reference/records.md',
    (topic) => {
      const [row = ''] = read('docs/reference/records.md').match(new RegExp(`^\\| \`${topic}\` \\|.*$`, 'm')) ?? []
      expect(wordsOf(row)).toEqual(expect.arrayContaining(typesOn(topic)))
    },
  )

  it.each(['user-events', 'form-events'])('on %s is a type of the auditor', (topic) => {
    expect(wordsOf(read(`${AUDIT}/facts.ts`))).toEqual(expect.arrayContaining(typesOn(topic)))
  })
})

describe('a consumer', () => {
  const consumers = globSync('services/*/src/consumer.ts', { cwd: ROOT }).map((file) => file.split(path.sep)[1] ?? '')

  it.each(consumers)('%s has its service and its addresses in docker-compose.yml', (name) => {
    const compose = read('docker-compose.yml')
    const variable = name.toUpperCase().replaceAll('-', '_')
    expect(compose).toMatch(new RegExp(`^  ${name}:$`, 'm'))
    expect(compose).toContain(`${variable}_URLS: dns+http://${name}:`)
    expect(compose).toContain(`${variable}_DATABASE_URL: `)
  })
})
