import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { TOPICS, USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { consumers } from '@nextvisit/services'
import { describe, expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8')
const page = read('docs/reference/privacy.md')

/** Returns the lines of the tables below this heading, by their first cell. */
function rowsOf(heading: string): ReadonlyMap<string, string> {
  const [, section = ''] = page.split(`\n## ${heading}\n`)
  const lines = (section.split('\n## ')[0] ?? '').matchAll(/^\| `([^`]+)` \|.*$/gm)
  return new Map(Array.from(lines, ([line, name = '']) => [name, line]))
}

/** Returns each table of the migrations in this folder with its columns without statistics, which may hold values of people. */
function tablesIn(folder: string): ReadonlyMap<string, readonly string[]> {
  const sql = globSync(`${folder}/*/migration.sql`)
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
    .replaceAll(/--.*$/gm, '')
  const created = Array.from(sql.matchAll(/CREATE TABLE "?(\w+)"?/g), ([, table = '']) => table)
  return new Map(
    created.map((table) => {
      const changes = Array.from(
        sql.matchAll(new RegExp(`ALTER TABLE ${table}\\s([^;]*);`, 'g')),
        ([, change = '']) => change,
      )
      const columns = Array.from(
        changes.join('\n').matchAll(/ALTER COLUMN (\w+) SET STATISTICS 0/g),
        ([, one = '']) => one,
      )
      return [table, columns]
    }),
  )
}

const [coreFolder = ''] = consumers
  .flatMap(({ migrations }) => migrations.slice(0, 1))
  .map(({ directory }) => directory)
const tables = new Map([
  ...tablesIn(coreFolder),
  ...consumers.flatMap(({ schema, directory }) =>
    Array.from(
      tablesIn(path.join(directory, 'prisma/migrations')),
      ([table, columns]) => [`${schema}.${table}`, columns] as const,
    ),
  ),
])

describe('the data map', () => {
  it('has a row for every table of every consumer, and no other', () => {
    expect(tables.size).toBeGreaterThan(20)
    expect([...rowsOf('Postgres').keys()].toSorted()).toEqual([...tables.keys()].toSorted())
  })

  it('names every column that may hold values of people', () => {
    const rows = rowsOf('Postgres')
    const columns = [...tables].flatMap(([table, names]) => names.map((name) => ({ table, name })))
    expect(columns.length).toBeGreaterThan(10)
    expect(columns.filter(({ table, name }) => !rows.get(table)?.includes(`\`${name}\``))).toEqual([])
  })

  it('has a row for every topic, and no other', () => {
    expect([...rowsOf('Kafka').keys()].toSorted()).toEqual([...Object.values(TOPICS), USER_KEYS_TOPIC].toSorted())
  })

  it('has a row for every kind of key and channel in Redis, and no other', () => {
    const files = globSync('{packages,services}/*/src/**/*.ts', { cwd: ROOT, exclude: ['**/*.spec.ts'] })
    const named = /(?:\$\{(?:keyPrefix|redisPrefix)\}|['`]nextvisit:)([a-z-]+:?)/g
    const keys = files.flatMap((file) => Array.from(read(file).matchAll(named), ([, name = '']) => name))
    expect(keys.length).toBeGreaterThan(4)
    expect([...rowsOf('Redis').keys()].toSorted()).toEqual([...new Set(keys)].toSorted())
  })
})
