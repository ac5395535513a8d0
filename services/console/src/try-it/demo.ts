import { readFile } from 'node:fs/promises'
import type { CatalogProject } from '@nextvisit/catalog'
import { hashApiKey } from '@nextvisit/domain'
import type { Logger } from '@nextvisit/service-kit'
import { z } from 'zod'
import type { KnownCatalog } from '../catalog/known-catalog.ts'

const DemoKeys = z.object({ admin: z.string(), sdk: z.string() })

const DAMAGED =
  "CONSOLE_DEMO_KEYS_FILE does not contain the demo's keys, so there is no Try it. Remove the file and run nextvisit demo, which creates new keys."

/** The demo's project with its keys. */
export interface Demo {
  readonly project: CatalogProject
  readonly keys: z.infer<typeof DemoKeys>
}

export interface FindDemoParts {
  /** As `nextvisit demo` writes it. */
  readonly keysFile: string | undefined
  readonly catalog: () => Promise<KnownCatalog>
  readonly logger: Pick<Logger, 'warn'>
}

/** The demo, where its keys are known here and its workspace is loaded. A file that holds no keys is logged once. */
export function createFindDemo({ keysFile, catalog, logger }: FindDemoParts): () => Promise<Demo | undefined> {
  let hasWarned = false
  return async () => {
    if (keysFile === undefined) return undefined
    const read = await readKeys(keysFile)
    if (read.outcome === 'damaged' && !hasWarned) {
      hasWarned = true
      logger.warn({ keysFile, code: read.code }, DAMAGED)
    }
    if (read.outcome !== 'ok') return undefined
    const { keys } = read
    const known = await catalog().catch(() => undefined)
    const project = known?.keyByHash(hashApiKey(keys.admin))?.project
    return project && { project, keys }
  }
}

type ReadKeys =
  | { readonly outcome: 'ok'; readonly keys: Demo['keys'] }
  | { readonly outcome: 'absent' }
  /** `code`: why the file cannot be opened; undefined: it can, but holds no keys. */
  | { readonly outcome: 'damaged'; readonly code: string | undefined }

/** Errors of `JSON.parse` quote the text, which is secret, so they are not passed on. */
async function readKeys(file: string): Promise<ReadKeys> {
  try {
    return { outcome: 'ok', keys: DemoKeys.parse(JSON.parse(await readFile(file, 'utf8'))) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? { outcome: 'absent' } : { outcome: 'damaged', code }
  }
}
