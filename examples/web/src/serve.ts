/** Serves the example: its page at every path, and the scripts of the page. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { readConfig } from './config.ts'

const { port, host, key } = readConfig()
const read = (url: string | URL): string => readFileSync(fileURLToPath(url), 'utf8')
const readPublic = (name: string) => read(new URL(`../public/${name}`, import.meta.url))
const page = readPublic('index.html')
const files = new Map<string, readonly [type: string, content: string]>([
  ['/app.js', ['text/javascript', readPublic('app.js')]],
  ['/app.css', ['text/css', readPublic('app.css')]],
  // In production, a bundler includes these files.
  ['/nextvisit-web.js', ['text/javascript', read(import.meta.resolve('@nextvisit/web'))]],
  ['/nextvisit-web-form.js', ['text/javascript', read(import.meta.resolve('@nextvisit/web-form'))]],
  ['/config.json', ['application/json', JSON.stringify({ host, key })]],
])

/** No inline scripts and styles. The import map is named by its hash; a page with a bundler has none. */
const [, importMap = ''] = /<script type="importmap">([^]*?)<\/script>/.exec(page) ?? []
const POLICY = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${createHash('sha256').update(importMap).digest('base64')}'`,
  "style-src 'self'",
  `connect-src 'self' ${new URL(host).origin}`,
  "base-uri 'none'",
].join('; ')

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  const [type, content] = files.get(pathname) ?? ['text/html; charset=utf-8', page]
  response.setHeader('Content-Security-Policy', POLICY).setHeader('Content-Type', type).end(content)
})
server.listen(port, '127.0.0.1', () => {
  const address = server.address()
  console.log(`The example is at http://127.0.0.1:${typeof address === 'object' ? address?.port : port}`)
})
