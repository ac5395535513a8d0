import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { createApiKey } from '@nextvisit/domain'

/** Created at the first start and kept. */
export interface StackSecrets {
  readonly adminKey: string
  readonly sdkKey: string
  /** NEXTVISIT_SECRET_KEY. */
  readonly secretKey: string
  readonly internalToken: string
  readonly databasePassword: string
  /** Who signs in to the console with it is an operator; with the other one, a viewer. */
  readonly consoleToken: string
  readonly consoleViewerToken: string
}

/** Reads the secrets in the data folder. Creates those that are missing, readable only for their owner. */
export async function readStackSecrets(folder: string): Promise<StackSecrets> {
  const file = path.join(folder, 'secrets.json')
  const kept = await readKept(file)
  const made = makeSecrets()
  const secrets = { ...made, ...kept }
  if (Object.keys(made).every((name) => Object.hasOwn(kept, name))) return secrets
  const unfinished = `${file}.unfinished`
  await writeFile(unfinished, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 })
  await rename(unfinished, file)
  return secrets
}

/** A folder of an older version has fewer. */
async function readKept(file: string): Promise<Partial<StackSecrets>> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as Partial<StackSecrets>
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return {}
  }
}

function makeSecrets(): StackSecrets {
  return {
    adminKey: createApiKey('admin', 'P', randomBytes(32)),
    sdkKey: createApiKey('sdk', 'P', randomBytes(32)),
    secretKey: randomBytes(32).toString('hex'),
    internalToken: randomBytes(32).toString('base64url'),
    databasePassword: randomBytes(24).toString('base64url'),
    consoleToken: randomBytes(24).toString('base64url'),
    consoleViewerToken: randomBytes(24).toString('base64url'),
  }
}

/** Where the console reads the demo's keys, in the form of `nextvisit demo`. */
export function demoKeysFileIn(folder: string): string {
  return path.join(folder, 'demo-keys.json')
}

export async function writeDemoKeys(folder: string, { adminKey, sdkKey }: StackSecrets): Promise<void> {
  await writeFile(demoKeysFileIn(folder), `${JSON.stringify({ admin: adminKey, sdk: sdkKey })}\n`, { mode: 0o600 })
}
