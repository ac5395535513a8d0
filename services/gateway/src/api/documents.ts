import { readFile } from 'node:fs/promises'

/** A text that is served as it is, without a key. */
export interface ServedDocument {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Called by each request, not at start. Of a large text all answers share the bytes. */
  readonly read: () => Promise<string | Uint8Array>
}

/**
 * The page of the API's description. It loads Swagger UI from below its own path: nothing comes from elsewhere, and it
 * works without a network. Paths are relative, for a proxy that puts the gateway below a prefix.
 */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Nextvisit API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="docs"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
`

/** `validatorUrl`: Swagger UI would else have the document judged by a service of its maker. */
const START = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: 'none' })
`

/** Scripts and styles of the page's own origin only, none inline; requests only to the gateway itself. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The API's description, for tools (`/openapi.json`) and for people (`/docs`). */
export function createDocuments(): readonly ServedDocument[] {
  return [
    { path: '/openapi.json', headers: contentType('application/json'), read: readOpenApi },
    {
      path: '/docs',
      headers: { ...contentType('text/html'), 'Content-Security-Policy': PAGE_POLICY },
      read: async () => PAGE,
    },
    { path: '/docs/start.js', headers: contentType('text/javascript'), read: async () => START },
    swaggerUi('swagger-ui-bundle.js', 'text/javascript'),
    swaggerUi('swagger-ui.css', 'text/css'),
  ]
}

/** Loaded by the first who asks: the library that makes the document does not slow down the start. */
async function readOpenApi(): Promise<string> {
  const { openApiText } = await import('./document.ts')
  return openApiText()
}

function swaggerUi(file: string, type: string): ServedDocument {
  let bytes: Uint8Array | undefined
  return {
    path: `/docs/${file}`,
    headers: { ...contentType(type), 'Cache-Control': 'public, max-age=3600' },
    read: async () => (bytes ??= await readFile(new URL(import.meta.resolve(`swagger-ui-dist/${file}`)))),
  }
}

function contentType(type: string): Record<string, string> {
  return { 'Content-Type': `${type}; charset=utf-8` }
}
