import { describe, expect, it } from 'vitest'
import { type EnvironmentVariables, readConfig } from './read-config.ts'
import { tracingConfig } from './tracing-config.ts'

const read = (env: EnvironmentVariables) => readConfig(tracingConfig, env).tracing
const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318/' }

describe('the variables of OpenTelemetry', () => {
  it('export nothing without an endpoint', () => {
    expect(read({ OTEL_EXPORTER_OTLP_HEADERS: 'a=b' })).toBeUndefined()
  })

  it('name the collector, its headers, and attributes of the process', () => {
    const headers = 'authorization=Basic%20c2VjcmV0, x-tenant=a=b'
    expect(read({ ...ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: headers, OTEL_SERVICE_NAME: 'gate' })).toEqual({
      url: 'http://collector:4318/v1/traces',
      headers: { authorization: 'Basic c2VjcmV0', 'x-tenant': 'a=b' },
      resource: { 'service.name': 'gate' },
    })
  })

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'grpc://collector:4317'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'secret'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'a=%secret'],
    ['OTEL_RESOURCE_ATTRIBUTES', '=secret'],
  ])('are refused by name, without their value: %s %s', (name, value) => {
    const reading = () => read({ ...ENDPOINT, [name]: value })
    expect(reading).toThrow(`${name} is wrong`)
    expect(reading).not.toThrow('secret')
  })
})
