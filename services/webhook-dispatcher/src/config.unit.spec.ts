import { describe, expect, it } from 'vitest'
import { readWorkConfig } from './config.ts'

const required = {
  KAFKA_BROKERS: 'kafka:9092',
  DATABASE_URL: 'postgresql://nextvisit@postgres/nextvisit',
  INTERNAL_PORT: '0',
  INTERNAL_TOKEN: 'a-token-of-the-specs',
  NEXTVISIT_SECRET_KEY: 'ab'.repeat(32),
  USER_PROJECTOR_URLS: 'http://users:1',
  ANSWER_COLLECTOR_URLS: 'http://answers:1',
}

const networksOf = (env: Readonly<Record<string, string>>) => {
  const { networks, isHttpAllowed } = readWorkConfig({ ...required, ...env })
  return [networks.map(({ address, prefixLength }) => `${address.toString()}/${prefixLength}`).join(), isHttpAllowed]
}

const delaysOf = (env: Readonly<Record<string, string>>) => readWorkConfig({ ...required, ...env }).retryDelaysMs

describe('the networks of endpoints', () => {
  it('are this machine in local mode, also over http, and public ones in production', () => {
    expect(networksOf({})).toEqual(['127.0.0.0/8,::1/128', true])
    expect(networksOf({ NEXTVISIT_MODE: 'production' })).toEqual(['', false])
  })

  it('are replaced by WEBHOOK_ALLOWED_NETWORKS, which never allows http', () => {
    for (const NEXTVISIT_MODE of ['local', 'production']) {
      const WEBHOOK_ALLOWED_NETWORKS = '10.0.0.0/8, fd00::/8'
      expect(networksOf({ NEXTVISIT_MODE, WEBHOOK_ALLOWED_NETWORKS })).toEqual(['10.0.0.0/8,fd00::/8', false])
    }
    expect(() => networksOf({ WEBHOOK_ALLOWED_NETWORKS: '10.0.0.1' })).toThrow(
      'WEBHOOK_ALLOWED_NETWORKS is wrong: must be networks such as 10.0.0.0/8',
    )
  })
})

describe('the delays of retries', () => {
  it('are those of WEBHOOK_RETRY_DELAYS', () => {
    expect(delaysOf({})).toHaveLength(9)
    expect(delaysOf({ WEBHOOK_RETRY_DELAYS: '1s, 2m' })).toEqual([1_000, 120_000])
    for (const wrong of ['1', '1s,', 'soon', '25h'])
      expect(() => delaysOf({ WEBHOOK_RETRY_DELAYS: wrong })).toThrow(
        'WEBHOOK_RETRY_DELAYS is wrong: must be durations',
      )
  })
})
