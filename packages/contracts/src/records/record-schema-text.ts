import { z } from 'zod'
import { RECORDS, type RecordType, type RecordTypeName, schemaVersionOf } from './records.ts'

/** Returns the text of `docs/reference/records/<type>.schema.json`. It allows unknown members, because readers ignore them. */
export function recordSchemaText(type: RecordTypeName): string {
  const record: RecordType = RECORDS[type]
  const { $schema, description, ...members } = z.toJSONSchema(record.schema, {
    target: 'draft-2020-12',
    io: 'input',
    unrepresentable: 'any',
  })
  const head = { $schema, title: type, description, 'x-schema-version': schemaVersionOf(record) }
  return `${JSON.stringify({ ...head, ...members }, null, 2)}\n`
}
