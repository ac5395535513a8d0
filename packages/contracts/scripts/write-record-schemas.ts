/** `pnpm record-schemas`: writes `docs/reference/records`, and `docs/reference/webhooks`. */
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { z } from 'zod'
import { WEBHOOK_PAYLOADS, WebhookType } from '../src/public/webhooks.ts'
import { RECORD_TYPES, RECORDS, type RecordType, type RecordTypeName, schemaVersionOf } from '../src/records/records.ts'

const REFERENCE = path.resolve(import.meta.dirname, '../../../docs/reference')
const RECORDS_FOLDER = path.join(REFERENCE, 'records')
const WEBHOOKS_FOLDER = path.join(REFERENCE, 'webhooks')

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

/** Returns the text of `docs/reference/webhooks/<type>.schema.json`. It allows unknown members, because later versions may add some. */
export function webhookSchemaText(type: WebhookType): string {
  const { $schema, description, ...members } = z.toJSONSchema(WEBHOOK_PAYLOADS[type], {
    target: 'draft-2020-12',
    io: 'input',
    unrepresentable: 'any',
    override: ({ jsonSchema }) => {
      if (jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    },
  })
  return `${JSON.stringify({ $schema, title: type, description, ...members }, null, 2)}\n`
}

if (import.meta.main) {
  for (const folder of [RECORDS_FOLDER, WEBHOOKS_FOLDER]) await mkdir(folder, { recursive: true })
  for (const type of RECORD_TYPES)
    await writeFile(path.join(RECORDS_FOLDER, `${type}.schema.json`), recordSchemaText(type))
  for (const type of WebhookType.options)
    await writeFile(path.join(WEBHOOKS_FOLDER, `${type}.schema.json`), webhookSchemaText(type))
}
