/** The gateway could not take its public port. */
export class GatewayListenError extends Error {
  override readonly name = 'GatewayListenError'
  readonly code = 'CANNOT_LISTEN'
  readonly retryable = false

  constructor(host: string, port: number, options?: ErrorOptions) {
    super(`Could not listen on ${host}:${port}: choose another GATEWAY_PORT, or end what holds it`, options)
  }
}

/** A record was not acknowledged: what the breaker before Kafka counts. */
export class NotAcknowledgedError extends Error {
  override readonly name = 'NotAcknowledgedError'
  readonly code = 'NOT_ACKNOWLEDGED'
  readonly retryable = true
  readonly outcome: 'not-published' | 'unknown'

  constructor(outcome: 'not-published' | 'unknown') {
    super('The record was not acknowledged; see what the publisher says before this')
    this.outcome = outcome
  }
}
