import { rename, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { addressesVariable } from '@nextvisit/contracts'
import { consumers } from '@nextvisit/services'
import type { ThrowAwayStack } from '@nextvisit/testing/black-box'

const LOOKED_UP = pathToFileURL(path.join(import.meta.dirname, 'looked-up-names.ts'))

/** Names of services, such as `metering.races`, with loopback addresses. All processes of a service have the same port. */
export interface ServiceNames {
  /** The environment of a process that calls services by their names. */
  readonly environment: NodeJS.ProcessEnv
  /** Changes the addresses of a service's name. */
  readonly set: (service: string, addresses: readonly string[]) => Promise<void>
}

/** Gives each consumer a name with the address of its first process. */
export async function createServiceNames({ dataDirectory, internalUrlOf }: ThrowAwayStack): Promise<ServiceNames> {
  const file = path.join(dataDirectory, 'names.json')
  const known = new Map(consumers.map(({ name }) => [nameOf(name), ['127.0.0.1'] as readonly string[]]))
  const write = async (): Promise<void> => {
    await writeFile(`${file}.new`, JSON.stringify(Object.fromEntries(known)))
    await rename(`${file}.new`, file)
  }
  await write()
  const urls = consumers.map(({ name }) => [
    addressesVariable(name),
    `dns+http://${nameOf(name)}:${new URL(internalUrlOf(name)).port}`,
  ])
  return {
    environment: {
      ...Object.fromEntries(urls),
      ADDRESS_LOOKUP_MS: '200',
      NODE_OPTIONS: `--import=${LOOKED_UP.href}?file=${encodeURIComponent(file)}`,
    },
    set: async (service, addresses) => {
      known.set(nameOf(service), addresses)
      await write()
    },
  }
}

function nameOf(service: string): string {
  return `${service}.races`
}
