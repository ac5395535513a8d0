/** Writes docs/reference/records. Run it after you change a record's schema. */
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { RECORD_TYPES, recordSchemaText } from './record-schemas.ts'

const folder = path.resolve(import.meta.dirname, '../../../../docs/reference/records')
await mkdir(folder, { recursive: true })
for (const record of RECORD_TYPES) {
  await writeFile(path.join(folder, `${record.type}.schema.json`), recordSchemaText(record))
}
