import { gatewayCalls, userEraserCalls } from '@nextvisit/contracts'
import {
  type Addresses,
  addressesConfig,
  type CallClient,
  type CallOutcome,
  createCallClient,
  createInternalClient,
  type EnvironmentVariables,
  internalTokenConfig,
} from '@nextvisit/service-kit'
import { readSettings } from '../environment/config.ts'
import { CliError, isTokenRefused } from '../errors.ts'

/** Time for an answer of a service, ms. */
export const ANSWER_WITHIN_MS = 10_000

/** The services that erase users, as clients. */
export interface ErasureClients {
  readonly gateway: CallClient<typeof gatewayCalls>
  readonly userEraser: CallClient<typeof userEraserCalls>
}

/** Creates the clients with INTERNAL_TOKEN and the addresses in the environment. */
export function createErasureClients(env: EnvironmentVariables): ErasureClients {
  const config = addressesConfig('gateway', 'user-eraser').and(internalTokenConfig)
  const { services, internalToken: token } = readSettings(config, env)
  const clientOf = (addresses: Addresses) => createInternalClient({ addresses, token, timeoutMs: ANSWER_WITHIN_MS })
  return {
    gateway: createCallClient(gatewayCalls, clientOf(services.gateway)),
    userEraser: createCallClient(userEraserCalls, clientOf(services['user-eraser'])),
  }
}

/** Throws a {@link CliError} with the remedy if a service has refused INTERNAL_TOKEN. */
export function requireToken(asked: CallOutcome<unknown>): void {
  if (asked.outcome === 'unavailable' && isTokenRefused(asked.cause))
    throw new CliError('The service refuses INTERNAL_TOKEN: set the token that it was started with.')
}
