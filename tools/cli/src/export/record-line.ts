import type { FetchedRecord } from '@nextvisit/log'

export interface ExportedRecord {
  /** One object on one line, with its newline. The members and their order are fixed (docs/records.md, An export). */
  readonly line: string
  readonly organization: unknown
  readonly project: unknown
}

/** A record as a line of an export. If its value is not JSON, `value` is null and `valueBase64` contains the bytes. */
export function exportedRecord(record: FetchedRecord): ExportedRecord {
  const { topic, partition, offset, timestampMs, key, headers } = record
  const value = parse(record.value)
  const line = JSON.stringify({
    topic,
    partition,
    offset: Number(offset),
    timestamp: new Date(timestampMs).toISOString(),
    key: key?.toString('utf8') ?? null,
    headers,
    value: value ?? null,
    ...(value === undefined && record.value !== null && { valueBase64: record.value.toString('base64') }),
  })
  const { organization, project } = isObject(value) ? value : {}
  return { line: `${line}\n`, organization, project }
}

function parse(value: Buffer | null): unknown {
  if (value === null) return undefined
  try {
    return JSON.parse(value.toString('utf8'))
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
