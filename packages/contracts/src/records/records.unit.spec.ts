import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { decodeRecord } from './record-codec.ts'
import { recordSchemaText } from '../../scripts/write-record-schemas.ts'
import { RECORD_TYPES, RECORDS, type RecordType, type RecordTypeName, schemaOn, schemaVersionOf } from './records.ts'

const DOCUMENTS = path.resolve(import.meta.dirname, '../../../../docs/reference/records')
const SAMPLES = path.join(import.meta.dirname, '../../test/samples')

/** A record exactly as it was published. Add samples, but never edit one. */
interface Sample {
  readonly headers: Readonly<Record<string, string>>
  /** The bytes, as text. */
  readonly value: string
}

/** File names look like `IdentifyRequested.v1.imported.json`. */
const samples = readdirSync(SAMPLES).map((file) => {
  const [type = '', version = ''] = file.split('.')
  const sample = JSON.parse(readFileSync(path.join(SAMPLES, file), 'utf8')) as Sample
  return { file, type: type as RecordTypeName, version: Number(version.slice(1)), sample }
})

const isDescribed = (member: object) => 'description' in member && /\w/.test(String(member.description))

describe('docs/reference/records', () => {
  it('describes every type of record', () => {
    expect(readdirSync(DOCUMENTS)).toEqual(RECORD_TYPES.map((type) => `${type}.schema.json`).toSorted())
  })

  it.each(RECORD_TYPES)('is current for %s: if not, run `npx -y pnpm record-schemas`', (type) => {
    const committed = readFileSync(path.join(DOCUMENTS, `${type}.schema.json`), 'utf8')
    expect(committed).toBe(recordSchemaText(type))
  })

  it.each(RECORD_TYPES)('describes every member of %s', (type) => {
    const { description, properties } = JSON.parse(recordSchemaText(type)) as {
      description: string
      properties: Record<string, object>
    }
    expect(description).toMatch(/\w/)
    expect(Object.keys(properties).filter((name) => !isDescribed(properties[name] ?? {}))).toEqual([])
  })
})

describe('recorded samples (design.md, The log)', () => {
  it('exist for every readable version of every type', () => {
    const wanted = RECORD_TYPES.flatMap((type) => {
      const record: RecordType = RECORDS[type]
      const { oldestVersion = 1, upcasters = [] } = record
      return Array.from({ length: upcasters.length + 1 }, (_, index) => `${type} ${oldestVersion + index}`)
    })
    const recorded = new Set(samples.map(({ type, version }) => `${type} ${version}`))
    expect([...recorded].toSorted()).toEqual(wanted.toSorted())
  })

  it.each(samples)('can be decoded by the consumers of their topic: $file', ({ type, version, sample }) => {
    expect(sample.headers).toMatchObject({ ce_type: type, 'schema-version': String(version) })
    expect(decode(type, sample)).toMatchObject({ outcome: 'ok', fact: { type } })
  })

  const current = samples.filter(({ type, version }) => version === schemaVersionOf(RECORDS[type]))
  it.each(current)('of the newest version are decoded without losing a member: $file', ({ type, sample }) => {
    expect(decode(type, sample)).toMatchObject({ outcome: 'ok', fact: JSON.parse(sample.value) })
  })
})

/** Decodes a sample as the consumers of its topic do. */
function decode(type: RecordTypeName, { value, headers }: Sample) {
  return decodeRecord(schemaOn(RECORDS[type].topic), Buffer.from(value), headers)
}
