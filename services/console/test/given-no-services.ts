import { CALLS, type ServiceName } from '@nextvisit/contracts'
import { createServices, type Services } from '../src/services.ts'

/** Creates calls to services without an address, which specs replace by their own answers. */
export function givenNoServices(): Services {
  const addresses = Object.fromEntries(Object.keys(CALLS).map((name) => [name, []]))
  return createServices(addresses as unknown as Readonly<Record<ServiceName, []>>, '')
}
