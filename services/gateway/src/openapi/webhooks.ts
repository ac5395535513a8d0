import { WEBHOOK_PAYLOADS, WebhookType } from '@nextvisit/contracts'
import { z } from 'zod'
import type { ZodOpenApiPathItemObject } from 'zod-openapi'
import { json, payloadNameOf } from './components.ts'
import type { Content } from './operations.ts'

const TIMESTAMP = '2026-11-02T10:00:00.000Z'

/** Creates the part of the document about the requests that endpoints of webhooks get. */
export function createWebhooks({
  description,
  headers,
  answers,
  data,
}: Content['webhooks']): Record<string, ZodOpenApiPathItemObject> {
  const parameters = Object.entries(headers).map(([name, { description: text, example }]) => [
    name,
    z.string().meta({ param: { description: text, example } }),
  ])
  const responses = Object.fromEntries(Object.entries(answers).map(([status, text]) => [status, { description: text }]))
  return Object.fromEntries(
    WebhookType.options.map((type) => {
      const payload = WEBHOOK_PAYLOADS[type]
      const summary = payload.description ?? type
      const example = { summary, value: { type, timestamp: TIMESTAMP, data: data[type] } }
      const operation = {
        operationId: payloadNameOf(type).replace(/^./, (first) => first.toLowerCase()),
        tags: ['Webhooks'],
        summary: summary.replace(/\.$/, ''),
        description,
        security: [],
        requestParams: { header: z.object(Object.fromEntries(parameters)) },
        requestBody: { required: true, content: json(payload, { [type]: example }) },
        responses,
      }
      return [type, { post: operation }]
    }),
  )
}
