import { createHash } from 'node:crypto'
import type { HeaderObject, OpenApiDocument } from '../openapi/open-api.ts'
import { type Html, html } from './html.ts'
import { PAGE_STYLE } from './page-style.ts'
import { type PlacedOperation, renderOperation } from './render-operation.ts'
import { renderSchema } from './render-schema.ts'
import { renderInline, renderText } from './render-text.ts'

/** The document as one page that loads nothing and runs nothing. */
export function renderPage(document: OpenApiDocument): string {
  const { info, tags, components } = document
  const operations = placedOperations(document)
  const { markup } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${info.title} API</title>
<style>${{ markup: PAGE_STYLE }}</style>
</head>
<body>
<nav>${renderContents(document, operations)}</nav>
<main>
<header><h1>${info.title} API</h1><p><a href="openapi.json">openapi.json</a> · OpenAPI ${document.openapi} · version ${info.version}</p></header>
${renderText(info.description)}
${tags.map(
  ({ name, description }) => html`<section><h2 id="tag-${name}">${name}</h2><p>${renderInline(description)}</p>
${operationsOf(name, operations).map((each) => renderOperation(document, each))}</section>`,
)}
<section><h2 id="headers">Headers</h2><table><tbody>${Object.entries(components.headers).map(renderHeader)}</tbody></table></section>
<section><h2 id="schemas">Schemas</h2>${Object.entries(components.schemas).map(([name, schema]) => renderSchema(name, schema))}</section>
</main>
</body>
</html>
`
  return markup
}

/** Lets the page have its own style, and nothing else. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(PAGE_STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

function renderContents({ info, tags }: OpenApiDocument, operations: readonly PlacedOperation[]): Html {
  return html`<p><a href="#">${info.title} API</a></p>${tags.map(
    ({ name }) =>
      html`<h2><a href="#tag-${name}">${name}</a></h2><ul>${operationsOf(name, operations).map(
        ({ method, operation }) =>
          html`<li><a href="#${operation.operationId}"><span class="method ${method}">${method.toUpperCase()}</span> ${operation.summary}</a></li>`,
      )}</ul>`,
  )}<h2><a href="#headers">Headers</a></h2><h2><a href="#schemas">Schemas</a></h2>`
}

function renderHeader([name, { description, example }]: [string, HeaderObject]): Html {
  return html`<tr id="header-${name}"><th scope="row"><code>${name}</code></th><td>${renderInline(description)} Such as <code>${example}</code>.</td></tr>`
}

function placedOperations({ paths }: OpenApiDocument): readonly PlacedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ method, path, operation })),
  )
}

function operationsOf(tag: string, operations: readonly PlacedOperation[]): readonly PlacedOperation[] {
  return operations.filter(({ operation }) => operation.tags.includes(tag))
}
