import { describe, expect, it } from 'vitest'
import { rethrowForbidden } from './cluster-check.ts'

const connection = { brokers: ['kafka:9092'], clientId: 'metering' }
const sasl = { mechanism: 'plain', username: 'nv-metering', password: 'secret' } as const

/** Returns an error like those of kafkajs for a broker's error codes. */
function answered(type: string): Error {
  return Object.assign(new Error('Not authorized'), { name: 'KafkaJSProtocolError', type, retriable: false })
}

describe('a refusal to read settings', () => {
  it.each([
    [{ ...connection, sasl }, 'User:nv-metering may not read'],
    [connection, 'The principal of metering may not read'],
  ])('names the principal, the missing permissions and the topics', (given, beginning) => {
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

  it('passes on other errors unchanged', () => {
    const away = answered('REQUEST_TIMED_OUT')
    expect(() => rethrowForbidden(connection, ['catalog'])(away)).toThrow(away)
  })
})
