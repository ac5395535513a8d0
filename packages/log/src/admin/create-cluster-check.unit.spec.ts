import { describe, expect, it } from 'vitest'
import { rethrowForbidden } from './create-cluster-check.ts'

const connection = { brokers: ['kafka:9092'], clientId: 'metering' }
const sasl = { mechanism: 'plain', username: 'nv-metering', password: 'secret' } as const

/** As kafkajs throws what a broker has answered. */
function answered(type: string): Error {
  return Object.assign(new Error('Not authorized'), { name: 'KafkaJSProtocolError', type, retriable: false })
}

describe('settings that the cluster does not show', () => {
  it.each([
    [{ ...connection, sasl }, 'User:nv-metering may not read'],
    [connection, 'The principal of metering may not read'],
  ])('names who lacks which permission on what', (given, beginning) => {
    const rethrow = () => rethrowForbidden(given, ['user-events', 'catalog'])(answered('TOPIC_AUTHORIZATION_FAILED'))
    expect(rethrow).toThrow(
      expect.objectContaining({
        retryable: false,
        message: expect.stringMatching(
          new RegExp(`^${beginning} .*; allow it DescribeConfigs and Describe on user-events, catalog$`),
        ),
      }),
    )
  })

  it('leaves what may pass as it is', () => {
    const away = answered('REQUEST_TIMED_OUT')
    expect(() => rethrowForbidden(connection, ['catalog'])(away)).toThrow(away)
  })
})
