/** Serves the example: its page at every path, and the scripts of the page. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { readConfig } from './config.ts'

const { port, host, key } = readConfig()
const read = (url: string | URL): string => readFileSync(fileURLToPath(url), 'utf8')
const page = read(new URL('../public/index.html', import.meta.url))
const scripts = new Map([
  ['/app.js', read(new URL('../public/app.js', import.meta.url))],
  // In production, a bundler includes this file.
  ['/nextvisit-web.js', read(import.meta.resolve('@nextvisit/web'))],
])

const server = createServer((request, response) => {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  const script = scripts.get(pathname)
  if (script !== undefined) response.setHeader('Content-Type', 'text/javascript').end(script)
  else if (pathname === '/config.json')
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify({ host, key }))
  else response.setHeader('Content-Type', 'text/html; charset=utf-8').end(page)
})
server.listen(port, '127.0.0.1', () => {
  const address = server.address()
  console.log(`The example is at http://127.0.0.1:${typeof address === 'object' ? address?.port : port}`)
})
