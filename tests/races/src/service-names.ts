import path from 'node:path'
import { addressesVariable } from '@nextvisit/contracts'
import { consumers } from '@nextvisit/services'
import { createNameFile } from '@nextvisit/testing'
import type { ThrowAwayStack } from '@nextvisit/testing/black-box'

/** Names of services, such as `metering.spec`, with loopback addresses. All processes of a service have the same port. */
export interface ServiceNames {
  /** The environment of a process that calls services by their names. */
  readonly environment: NodeJS.ProcessEnv
  /** Changes the addresses of a service's name. */
  readonly set: (service: string, addresses: readonly string[]) => Promise<void>
}

/** Gives each consumer a name with the address of its first process. */
export async function createServiceNames({ dataDirectory, internalUrlOf }: ThrowAwayStack): Promise<ServiceNames> {
  const file = createNameFile(path.join(dataDirectory, 'names.json'))
  const known = new Map(consumers.map(({ name }) => [nameOf(name), ['127.0.0.1'] as readonly string[]]))
  const write = () => file.write(Object.fromEntries(known))
  await write()
  const urls = consumers.map(({ name }) => [
    addressesVariable(name),
    `dns+http://${nameOf(name)}:${new URL(internalUrlOf(name)).port}`,
  ])
  return {
    environment: { ...Object.fromEntries(urls), ...file.environment },
    set: async (service, addresses) => {
      known.set(nameOf(service), addresses)
      await write()
    },
  }
}

function nameOf(service: string): string {
  return `${service}.spec`
}
