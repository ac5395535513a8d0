import { readFile } from 'node:fs/promises'
import type { CatalogProject } from '@nextvisit/catalog'
import { hashApiKey } from '@nextvisit/domain'
import { z } from 'zod'
import type { KnownCatalog } from '../known-catalog.ts'

const DemoKeys = z.object({ admin: z.string(), sdk: z.string() })

/** The demo's project with its keys. */
export interface Demo {
  readonly project: CatalogProject
  readonly keys: z.infer<typeof DemoKeys>
}

/** The demo, where its keys are known here and its workspace is loaded. */
export function createFindDemo(
  keysFile: string | undefined,
  catalog: () => Promise<KnownCatalog>,
): () => Promise<Demo | undefined> {
  return async () => {
    if (keysFile === undefined) return undefined
    const keys = await readKeys(keysFile)
    if (!keys) return undefined
    const known = await catalog().catch(() => undefined)
    const project = known?.keyByHash(hashApiKey(keys.admin))?.project
    return project && { project, keys }
  }
}

async function readKeys(file: string): Promise<Demo['keys'] | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  return DemoKeys.parse(JSON.parse(text))
}
