import { PAGE_POLICY, renderPage } from '../docs-page/render-page.ts'
import { createOpenApiDocument, openApiText } from '../openapi/document.ts'

/** What is served as it is, without a key. */
export interface ServedDocument {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

/** The API's description, for tools and for people. */
export function createDocuments(): readonly ServedDocument[] {
  return [
    { path: '/openapi.json', headers: { 'Content-Type': 'application/json; charset=utf-8' }, text: openApiText() },
    {
      path: '/docs',
      headers: { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': PAGE_POLICY },
      text: renderPage(createOpenApiDocument()),
    },
  ]
}
