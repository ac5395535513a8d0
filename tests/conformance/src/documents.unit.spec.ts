import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const FOLDERS = ['packages', 'services', 'tools', 'tests', 'examples', 'infra', 'docs']
/** Matches a path such as `services/<name>/src/main.ts` anywhere in the text, but no API path, which begins with /. */
const PATH = new RegExp(String.raw`(?<![\w/.@<>-])(?:${FOLDERS.join('|')})/[\w.<>*{},/@-]*[\w>*}/]`, 'g')
const LINK = /\]\((?!\w+:|#)([^)#\s]+)/g
/** A link to a heading, of the same page or of another one. */
const HEADING_LINK = /\]\((?!\w+:)([^)#\s]*)#([^)\s]+)\)/g
/**
 * Matches a file name without its folder, such as `gates.ts`. Other extensions are files of the reader, such as
 * workspace files.
 */
const FILE_NAME = /`(\w[\w.-]*\.(?:ts|md|sql|prisma))`/g

/** A name of the code, such as `defineTable`, or `defineTable(...User)`. */
const NAME = /`(?:([\w$.]+)(?:\(\))?|([\w$]+)\([^`]*)`/g
/** Pages whose subject is also the past, and programs of others. */
const PAGES_OF_OTHER_NAMES = /^docs\/(?:decisions\/|explanation\/history\/|reference\/import-formats\.md)/
/** Names that are derived from others while the program runs. */
const DERIVED_NAMES = ['users_replay', 'registry_replay', 'metering_replay', 'forms_replay']

const documents = ['README.md', 'SECURITY.md', 'CHANGELOG.md', ...globSync('docs/**/*.md', { cwd: ROOT })]
const sources = globSync(`{${FOLDERS.join(',')}}/**/*.{ts,md,sql,prisma}`, { cwd: ROOT, exclude: ['**/node_modules'] })
const code = globSync(
  ['{packages,services,tools,tests,examples,infra}/**/*.{ts,tsx,sql,prisma,yaml,json,toml,env}', '*.{json,yaml,yml}'],
  { cwd: ROOT, exclude: ['**/node_modules', '**/generated/{prisma,web}', '**/*.spec.ts'] },
)
const knownNames = new Set([
  ...DERIVED_NAMES,
  ...[...code, 'docs/reference/openapi.json'].flatMap((file) => [path.basename(file), ...wordsIn(read(file))]),
])
const fileNames = new Set([...documents, ...sources].map((file) => path.basename(file)))

/** Returns the paths and file names in a document that do not exist in the repository. */
function missingIn(document: string, text: string): string[] {
  const links = Array.from(text.matchAll(LINK), ([, target = '']) => path.join(path.dirname(document), target))
  const paths = [...(text.match(PATH) ?? []), ...links].filter((named) => !exists(named))
  const names = Array.from(text.matchAll(FILE_NAME), ([, name = '']) => name).filter((name) => !fileNames.has(name))
  return [...paths, ...names]
}

/** Returns the names in a document that neither code nor configuration contains. Code blocks are not read. */
function missingNamesIn(text: string): string[] {
  const names = Array.from(
    text.replaceAll(/^ *```[^]*?```/gm, '').matchAll(NAME),
    ([, name, called]) => name ?? called ?? '',
  )
  return names.filter((name) => !knownNames.has(name) && wordsIn(name).some((word) => !knownNames.has(word)))
}

function wordsIn(text: string): readonly string[] {
  return text.match(/[\p{L}_$][\p{L}\p{N}_$]*/gu) ?? []
}

/** Returns the links of a document to headings that do not exist. */
function missingHeadingsIn(document: string, text: string): string[] {
  const links = Array.from(text.matchAll(HEADING_LINK), ([, file = '', id = '']) => ({
    page: file === '' ? document : path.join(path.dirname(document), file),
    id,
  }))
  return links
    .filter(({ page }) => page.endsWith('.md') && documents.includes(page))
    .filter(({ page, id }) => !headingIdsIn(page === document ? text : read(page)).includes(id))
    .map(({ page, id }) => `${page}#${id}`)
}

/** Returns GitHub's anchor of a title: `Postgres is older than Kafka` is `postgres-is-older-than-kafka`. */
function headingIdsIn(text: string): string[] {
  return Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function read(document: string): string {
  return readFileSync(path.join(ROOT, document), 'utf8')
}

/** Returns whether a path exists. A placeholder matches any name, as in `services/<name>/src`. */
function exists(named: string): boolean {
  return globSync(named.replaceAll(/<[^>]*>/g, '*'), { cwd: ROOT }).length > 0
}

describe('the documents', () => {
  it.each(documents)('%s names only existing paths', (document) => {
    expect(missingIn(document, read(document))).toEqual([])
  })

  it.each(documents)('%s links only to existing headings', (document) => {
    expect(missingHeadingsIn(document, read(document))).toEqual([])
  })

  it.each(documents.filter((document) => !PAGES_OF_OTHER_NAMES.test(document)))(
    '%s names only identifiers of the code',
    (document) => {
      expect(missingNamesIn(read(document))).toEqual([])
    },
  )

  it('are refused if they name a missing identifier', () => {
    const text =
      '`defineTable(...User)`, `defineNoTable(User)`, `LOG_LEVEL`, `NO_SUCH_LEVEL`, `records.ts`, `a few words`'
    expect(missingNamesIn(`${text}\n\n\`\`\`\n\`noSuchName\`\n\`\`\`\n`)).toEqual(['defineNoTable', 'NO_SUCH_LEVEL'])
  })

  it('are refused if they link to a missing heading', () => {
    const text = '# One, two\n\n[one](#one-two), [no](#three), [lag](lag.md#nothing), https://example.com/#x'
    expect(missingHeadingsIn('docs/runbooks/lag.md', text)).toEqual([
      'docs/runbooks/lag.md#three',
      'docs/runbooks/lag.md#nothing',
    ])
  })

  it('are refused if they name a missing path', () => {
    const text = [
      'See `packages/domain/src/nowhere.ts`, [the lag](lag.md), [a page](../no-page.md#part), https://example.com/docs/x,',
      '`services/<name>/src/main.ts`, `services/<name>/nothing`, /v2/tests/x, tools/cli. `gates.ts`, `no-gates.ts`.',
    ].join('\n')
    expect(missingIn('docs/runbooks/lag.md', text)).toEqual([
      'packages/domain/src/nowhere.ts',
      'services/<name>/nothing',
      'docs/no-page.md',
      'no-gates.ts',
    ])
  })
})
