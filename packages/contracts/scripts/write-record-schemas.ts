/** `pnpm record-schemas`: writes `docs/reference/records`. */
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { RECORD_TYPES, RECORDS, type RecordType, type RecordTypeName, schemaVersionOf } from '../src/records/records.ts'

const FOLDER = path.resolve(import.meta.dirname, '../../../docs/reference/records')

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

if (import.meta.main) {
  await mkdir(FOLDER, { recursive: true })
  for (const type of RECORD_TYPES) await writeFile(path.join(FOLDER, `${type}.schema.json`), recordSchemaText(type))
}
