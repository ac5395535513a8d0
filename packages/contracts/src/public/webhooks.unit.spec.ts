import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { webhookSchemaText } from '../../scripts/write-record-schemas.ts'
import { WebhookType } from './webhooks.ts'

const DOCUMENTS = path.resolve(import.meta.dirname, '../../../../docs/reference/webhooks')

describe('docs/reference/webhooks', () => {
  it('describes every type of webhook', () => {
    expect(readdirSync(DOCUMENTS).toSorted()).toEqual(
      WebhookType.options.map((type) => `${type}.schema.json`).toSorted(),
    )
  })

  it.each(WebhookType.options)('is current for %s: if not, run `npx -y pnpm record-schemas`', (type) => {
    expect(readFileSync(path.join(DOCUMENTS, `${type}.schema.json`), 'utf8')).toBe(webhookSchemaText(type))
  })

  it.each(WebhookType.options)('lets %s gain members', (type) => {
    expect(webhookSchemaText(type)).not.toContain('"additionalProperties": false')
  })
})
