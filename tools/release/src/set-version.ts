/** `pnpm set-version <version>`: sets the version of every package, of the chart, and of the image in its guide. */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const WORKSPACES = '{examples,packages,services,tests,tools}/{package.json,*/package.json}'

const [version = ''] = process.argv.slice(2)
if (!/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version)) {
  console.error('Usage: npx -y pnpm set-version <version>, for example 1.1.0 or 1.1.0-rc.1')
  process.exit(2)
}

for (const file of ['package.json', ...globSync(WORKSPACES, { cwd: ROOT })]) {
  replaceIn(file, /"version": "[^"]*"/, `"version": "${version}"`)
}
replaceIn('infra/helm/nextvisit/Chart.yaml', /^version: .*$/m, `version: ${version}`)
replaceIn('infra/helm/nextvisit/Chart.yaml', /^appVersion: .*$/m, `appVersion: ${version}`)
replaceIn('docs/guides/kubernetes.md', /(registry\.example\.com\/nextvisit(?::|, tag: ))[^\s}]+/g, `$1${version}`)
console.log(`Set the version to ${version}.`)

function replaceIn(file: string, pattern: RegExp, replacement: string): void {
  const full = path.join(ROOT, file)
  const text = readFileSync(full, 'utf8')
  if (!pattern.test(text)) throw new Error(`${file} has no version.`)
  writeFileSync(full, text.replace(pattern, replacement))
}
