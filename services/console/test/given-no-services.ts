import { CALLS } from '@nextvisit/contracts'
import { createAddresses } from '@nextvisit/service-kit'
import { createServices, type ServiceAddresses, type Services } from '../src/services.ts'

/** Creates calls to services without an address, which specs replace by their own answers. */
export function givenNoServices(): Services {
  const addresses = Object.fromEntries(Object.keys(CALLS).map((name) => [name, createAddresses([])]))
  return createServices(addresses as ServiceAddresses, '')
}
