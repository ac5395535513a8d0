import { createDocument, type oas32 } from 'zod-openapi'
import { HEADERS, SCHEMAS, SECURITY_SCHEMES, tidySchema } from './components.ts'
import { TAGS } from './operation.ts'
import { createPaths } from './paths.ts'

/** The document's own description: the rules that hold for every route (the specification's, in short). */
const INTRODUCTION = `Your server says who a user is and what they did; forms that match are waiting when that user next visits.

Paths are relative to wherever this document was found. Bodies are JSON objects in UTF-8 of at most 100 KB (102,400 bytes, also after \`Content-Encoding: gzip\` is inflated), nested at most 8 deep. Members that are not listed are ignored; \`null\` for an optional member is the same as leaving it out. Lengths count Unicode code points. Every \`GET\` answers \`HEAD\`, too.

**Keys.** Every \`/v2\` route needs \`X-Api-Key\`: an admin key (secret, for servers) on \`/v2/admin\`, a publishable key on \`/v2/sdk\`. A key belongs to one project and one environment: P (production) or T (test, not metered).

**Order of checks.** The first that fails answers, and nothing is counted, registered or recorded for a request that is refused:

- route (404, 405 with \`Allow\`)
- key (401), kind of key (403), rate limit (429)
- \`Content-Type\` (415), size (413), JSON (400)
- the body's own rules (400, or 401 for an identify without a userName)
- \`Idempotency-Key\` (400, 409, 422)
- policy (400, 402, 404)

**Errors.** Every error is \`{status, error, message}\`; \`message\` names what is wrong and says what would be right. Every response carries \`X-Request-Id\`.

**Rate limits** are token buckets, each key its own; admin and SDK keys have separate limits. By default 100 requests a second with bursts of 200. 429 and 503 carry \`Retry-After\`.

**Retries.** Send an \`Idempotency-Key\` (1 to 255 visible ASCII characters) and repeat the same request freely: within 24 hours a repeat gets the first 2xx answer again, with \`Idempotent-Replayed: true\`, and counts nothing. A 503 was not acknowledged; whether it was recorded may be unknown, and such a repeat never counts twice.`

/** The OpenAPI document: made of the route table, the contracts' schemas, the refusals and what is said here beside them. */
export function createOpenApiDocument(): oas32.OpenAPIObject {
  return createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Nextvisit',
        version: '2.0.0',
        description: INTRODUCTION,
        license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'Where this document was found' }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      paths: createPaths(),
      components: { schemas: SCHEMAS, headers: HEADERS, securitySchemes: SECURITY_SCHEMES },
    },
    { override: tidySchema },
  )
}

let text: string | undefined

/** As it is served, and committed to docs/openapi.json. Made once. */
export function openApiText(): string {
  text ??= `${JSON.stringify(createOpenApiDocument(), null, 2)}\n`
  return text
}
