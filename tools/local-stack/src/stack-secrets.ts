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
}

/** Reads the secrets in the data folder. Creates them if there are none, readable only for their owner. */
export async function readStackSecrets(folder: string): Promise<StackSecrets> {
  const file = path.join(folder, 'secrets.json')
  try {
    return JSON.parse(await readFile(file, 'utf8')) as StackSecrets
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const secrets: StackSecrets = {
    adminKey: createApiKey('admin', 'P', randomBytes(32)),
    sdkKey: createApiKey('sdk', 'P', randomBytes(32)),
    secretKey: randomBytes(32).toString('hex'),
    internalToken: randomBytes(32).toString('base64url'),
    databasePassword: randomBytes(24).toString('base64url'),
  }
  const unfinished = `${file}.unfinished`
  await writeFile(unfinished, `${JSON.stringify(secrets, null, 2)}\n`, { mode: 0o600 })
  await rename(unfinished, file)
  return secrets
}
