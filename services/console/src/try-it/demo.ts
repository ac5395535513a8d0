import { readFile } from 'node:fs/promises'
import type { CatalogProject } from '@nextvisit/catalog'
import { hashApiKey } from '@nextvisit/domain'
import { z } from 'zod'
import type { Dependencies } from '../dependencies.ts'

const DemoKeys = z.object({ admin: z.string(), sdk: z.string(), testAdmin: z.string(), testSdk: z.string() })

const DAMAGED =
  "CONSOLE_DEMO_KEYS_FILE does not contain the demo's keys, so Try it is not offered. Remove the file and run nextvisit demo, which creates new keys."

/** The demo's project and its keys. Test keys do not count against the plan, and their answers are counted apart. */
export interface Demo {
  readonly project: CatalogProject
  readonly keys: z.infer<typeof DemoKeys>
}

interface FindDemoParts extends Pick<Dependencies, 'catalog'> {
  readonly logger: Pick<Dependencies['logger'], 'warn'>
  /** File that `nextvisit demo` writes. */
  readonly keysFile: string | undefined
}

/** Finds the demo, if its keys are known and its workspace is loaded. Logs an invalid file once. */
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
  /** `code`: error on opening the file; undefined: the file contains no keys. */
  | { readonly outcome: 'damaged'; readonly code: string | undefined }

/** Reads the keys. Errors of `JSON.parse` are dropped, because they quote the text, which is secret. */
async function readKeys(file: string): Promise<ReadKeys> {
  try {
    return { outcome: 'ok', keys: DemoKeys.parse(JSON.parse(await readFile(file, 'utf8'))) }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? { outcome: 'absent' } : { outcome: 'damaged', code }
  }
}
