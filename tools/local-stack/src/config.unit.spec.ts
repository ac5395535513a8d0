import { describe, expect, it } from 'vitest'
import { readStartConfig } from './config.ts'

describe('readStartConfig', () => {
  it('has defaults when nothing is set', () => {
    expect(readStartConfig({})).toMatchObject({ gatewayPort: 8080, workspaceFile: undefined })
    expect(readStartConfig({}).dataDirectory).toMatch(/[/\\]\.nextvisit$/)
  })

  it('returns the prefix with which a command finds the data: none, or the folder quoted for a shell', () => {
    const prefixes = ['', '/data/next-visit.1', "/my data/ada's"].map(
      (folder) => readStartConfig({ NEXTVISIT_DATA: folder }).commandPrefix,
    )
    expect(prefixes).toEqual([
      '',
      'NEXTVISIT_DATA=/data/next-visit.1 ',
      String.raw`NEXTVISIT_DATA='/my data/ada'\''s' `,
    ])
  })

  it('treats an empty variable as not set', () => {
    expect(readStartConfig({ GATEWAY_PORT: '', KAFKA_BROKERS: '', METERING_DATABASE_URL: '' })).toEqual(
      readStartConfig({}),
    )
  })

  it('reads the parts that run elsewhere, and services with their own server', () => {
    const { external } = readStartConfig({
      KAFKA_BROKERS: 'a:1,b:2',
      DATABASE_URL: 'postgresql://shared',
      REDIS_URL: 'redis://r',
      METERING_DATABASE_URL: 'postgresql://own',
    })
    expect(external).toEqual({
      kafkaBrokers: 'a:1,b:2',
      databaseUrl: 'postgresql://shared',
      redisUrl: 'redis://r',
      databaseUrls: new Map([['METERING_DATABASE_URL', 'postgresql://own']]),
    })
  })

  it('refuses production mode with its own broker, and accepts it with other brokers', () => {
    expect(() => readStartConfig({ NEXTVISIT_MODE: 'production' })).toThrow('needs three Kafka brokers')
    expect(() => readStartConfig({ NEXTVISIT_MODE: 'production', KAFKA_BROKERS: 'a:1' })).not.toThrow()
    expect(() => readStartConfig({ NEXTVISIT_MODE: 'local' })).not.toThrow()
  })

  it.each(['0', '65536', '80a', '-1', '1e3'])('refuses the port %s', (port) => {
    expect(() => readStartConfig({ GATEWAY_PORT: port })).toThrow(
      `GATEWAY_PORT is ${port}; it must be a port number, 1 to 65535.`,
    )
  })
})
