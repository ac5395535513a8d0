/** The gateway could not take its public port. */
export class GatewayListenError extends Error {
  override readonly name = 'GatewayListenError'
  readonly code = 'CANNOT_LISTEN'
  readonly retryable = false

  constructor(host: string, port: number, options?: ErrorOptions) {
    super(`Could not listen on ${host}:${port}: choose another GATEWAY_PORT, or end what holds it`, options)
  }
}
