import { HEADERS } from './headers.ts'
import { INTRODUCTION } from './introduction.ts'
import { keyedPaths } from './keyed-paths.ts'
import { keylessPaths } from './keyless-paths.ts'
import type { OpenApiDocument, SecurityScheme } from './open-api.ts'
import { TAGS } from './operation.ts'
import { componentSchemas } from './schemas.ts'

/** The OpenAPI document: made of the route table, the contracts' schemas and what is said here beside them. */
export function createOpenApiDocument(): OpenApiDocument {
  return {
    openapi: '3.1.1',
    info: { title: 'Nextvisit', version: '2.0.0', description: INTRODUCTION },
    servers: [{ url: '/', description: 'Where this document was found' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: { ...keyedPaths(), ...keylessPaths() },
    components: {
      schemas: componentSchemas(),
      headers: HEADERS,
      securitySchemes: {
        AdminKey: apiKey('An admin key (`nv_admin_…`), secret: for servers only.'),
        SdkKey: apiKey('A publishable key (`nv_sdk_…`): for pages and apps.'),
      },
    },
  }
}

/** As it is served, and committed to docs/openapi.json. */
export function openApiText(): string {
  return `${JSON.stringify(createOpenApiDocument(), null, 2)}\n`
}

function apiKey(description: string): SecurityScheme {
  return { type: 'apiKey', in: 'header', name: 'X-Api-Key', description }
}
