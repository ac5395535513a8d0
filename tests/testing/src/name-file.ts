import { rename, writeFile } from 'node:fs/promises'

const LOOKED_UP = new URL('looked-up-names.ts', import.meta.url)

/** Names of services below `.spec`, with addresses that a spec changes. */
export interface NameFile {
  /** The environment of a process that looks these names up. */
  readonly environment: NodeJS.ProcessEnv
  /** Replaces the addresses of all names. */
  readonly write: (known: Readonly<Record<string, readonly string[]>>) => Promise<void>
}

/** Keeps names in this file. They have no addresses before they are written. */
export function createNameFile(file: string): NameFile {
  return {
    environment: {
      ADDRESS_LOOKUP_MS: '200',
      NODE_OPTIONS: `--import=${LOOKED_UP.href}?file=${encodeURIComponent(file)}`,
    },
    write: async (known) => {
      await writeFile(`${file}.new`, JSON.stringify(known))
      await rename(`${file}.new`, file)
    },
  }
}
