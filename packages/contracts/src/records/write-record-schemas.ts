/** Writes `docs/reference/records`. Run it after a change of a record's schema. */
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { recordSchemaText } from './record-schema-text.ts'
import { RECORD_TYPES } from './records.ts'

const folder = path.resolve(import.meta.dirname, '../../../../docs/reference/records')
await mkdir(folder, { recursive: true })
for (const type of RECORD_TYPES) await writeFile(path.join(folder, `${type}.schema.json`), recordSchemaText(type))
