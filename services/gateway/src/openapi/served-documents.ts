import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { ServedDocument } from '../http/app.ts'

/**
 * The page of the API's description. It loads Swagger UI from below its own path, so it works without a network. Paths
 * are relative, for proxies that serve the gateway below a prefix.
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

/** `validatorUrl`: by default, Swagger UI sends the document to a public validator. */
const START = `SwaggerUIBundle({ url: 'openapi.json', dom_id: '#docs', deepLinking: true, validatorUrl: 'none' })
`

/** Allows scripts and styles of the own origin, none inline, and requests to the gateway itself. */
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

/** Returns the API's description for tools (`/openapi.json`) and for people (`/docs`). */
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

/** Loaded by the first request, since the library that makes the document would slow down the start. */
async function readOpenApi(): Promise<string> {
  const { openApiText } = await import('./document.ts')
  return openApiText()
}

function swaggerUi(file: string, type: string): ServedDocument {
  let bytes: Uint8Array | undefined
  return {
    path: `/docs/${file}`,
    headers: { ...contentType(type), 'Cache-Control': 'public, max-age=3600' },
    read: async () => (bytes ??= await readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${file}`))),
  }
}

function contentType(type: string): Record<string, string> {
  return { 'Content-Type': `${type}; charset=utf-8` }
}
