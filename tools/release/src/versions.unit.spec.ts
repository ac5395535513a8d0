import { createHash } from 'node:crypto'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8')
const versionIn = (file: string) => (parse(read(file)) as { readonly version: string }).version
const VERSION = versionIn('package.json')
const PACKAGES = globSync('{examples,packages,services,tests,tools}/{package.json,*/package.json}', { cwd: ROOT })
const RELEASED = globSync('tests/conformance/released/*/migrations.json', { cwd: ROOT })

describe('the version', () => {
  it('is the same in every package, and in the chart', () => {
    const { version, appVersion } = parse(read('infra/helm/nextvisit/Chart.yaml')) as Record<string, string>
    expect({ version, appVersion }).toEqual({ version: VERSION, appVersion: VERSION })
    expect(PACKAGES.filter((file) => versionIn(file) !== VERSION)).toEqual([])
  })

  it('is that of the image in the guide for Kubernetes', () => {
    const tags = read('docs/guides/kubernetes.md').matchAll(/registry\.example\.com\/nextvisit(?::|, tag: )([^\s}]+)/g)
    expect(Array.from(tags, ([, tag]) => tag)).toEqual([VERSION, VERSION, VERSION])
  })

  it('has a section in the changelog', () => {
    expect(read('CHANGELOG.md')).toContain(`## [${VERSION}]`)
  })
})

/** Returns the statements of a migration that take something away from the running version. */
function removalsIn(sql: string): readonly string[] {
  const REMOVAL = /\b(?:DROP (?:TABLE|COLUMN|FUNCTION|SCHEMA|VIEW)|RENAME|TYPE \w+ USING|SET NOT NULL)\b/gi
  return sql.replaceAll(/--.*/g, '').match(REMOVAL) ?? []
}

describe('the migrations after a released version', () => {
  const released = new Set(RELEASED.flatMap((file) => Object.keys(JSON.parse(read(file)) as object)))
  const files = globSync('{services,packages}/*/prisma/migrations/*/migration.sql', { cwd: ROOT })

  it('only add, because the version before runs on', () => {
    expect(files.length).toBeGreaterThanOrEqual(released.size)
    const later = files.filter((file) => !released.has(path.dirname(file)))
    expect(later.filter((file) => removalsIn(read(file)).length > 0)).toEqual([])
  })

  it('are refused if they remove or rename', () => {
    const sql = 'ALTER TABLE users DROP COLUMN name; -- DROP TABLE x\nALTER TABLE users RENAME TO people;'
    expect(removalsIn(sql)).toEqual(['DROP COLUMN', 'RENAME'])
  })
})

describe('the migrations of a released version', () => {
  it.each(RELEASED)('never change, because databases refuse an edited one: %s', (file) => {
    const released = JSON.parse(read(file)) as Readonly<Record<string, string>>
    expect(Object.keys(released).length).toBeGreaterThan(0)
    // As in the table of applied migrations.
    const checksumOf = (folder: string) =>
      createHash('sha256')
        .update(read(`${folder}/migration.sql`))
        .digest('hex')
    const now = Object.keys(released).map((folder) => [folder, checksumOf(folder)])
    expect(Object.fromEntries(now)).toEqual(released)
  })
})
