import { z } from 'zod'

/** The export of traces. */
export interface TracingConfig {
  /** The URL that takes spans. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Attributes of the process in addition to its own. */
  readonly resource: Readonly<Record<string, string>>
}

const ENDPOINT = 'must be the address of an OTLP receiver over HTTP, like http://host:4318'
const PAIRS = 'must be pairs like name=value; several separated by commas, values percent-encoded'

const pairs = z.string().transform((text, context): Readonly<Record<string, string>> => {
  const entries: [string, string][] = []
  for (const item of text.split(',').flatMap((one) => one.trim() || [])) {
    const [, name, value] = /^([^=\s]+)\s*=\s*(.*)$/.exec(item) ?? []
    const decoded = value === undefined ? undefined : decode(value)
    if (name === undefined || decoded === undefined) {
      context.addIssue({ code: 'custom', message: PAIRS })
      return z.NEVER
    }
    entries.push([name, decoded])
  }
  return Object.fromEntries(entries)
})

function decode(value: string): string | undefined {
  try {
    return decodeURIComponent(value)
  } catch {
    return undefined
  }
}

function isHttp(text: string): boolean {
  return URL.canParse(text) && ['http:', 'https:'].includes(new URL(text).protocol)
}

/** `tracing`: where a process exports traces, from OpenTelemetry's variables; undefined without an endpoint. */
export const tracingConfig = z
  .object({
    OTEL_EXPORTER_OTLP_ENDPOINT: z.string().refine(isHttp, ENDPOINT).optional(),
    OTEL_EXPORTER_OTLP_HEADERS: pairs.default({}),
    OTEL_RESOURCE_ATTRIBUTES: pairs.default({}),
    OTEL_SERVICE_NAME: z.string().optional(),
  })
  .transform((env): { readonly tracing: TracingConfig | undefined } => {
    const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SERVICE_NAME: name } = env
    if (endpoint === undefined) return { tracing: undefined }
    const resource = { ...env.OTEL_RESOURCE_ATTRIBUTES, ...(name !== undefined && { 'service.name': name }) }
    const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`
    return { tracing: { url, headers: env.OTEL_EXPORTER_OTLP_HEADERS, resource } }
  })
