import type { FetchedRecord } from '@nextvisit/log'
import type { ShowContent } from '../shown-records/shown-content.ts'

interface ExportedRecord {
  readonly line: string
  readonly organization: unknown
  readonly project: unknown
}

/**
 * Formats a record as a line of an export, with its newline. The members and their order are fixed (records.md,
 * Exports). If the value is not JSON, `value` is null and `valueBase64` has the bytes. undefined: the record is erased.
 */
export function exportedRecord(record: FetchedRecord, showContent: ShowContent): ExportedRecord | undefined {
  const { topic, partition, offset, timestampMs, key, headers } = record
  const text = record.value?.toString('utf8')
  const value = text === undefined ? undefined : parse(text)
  const shown = showContent(record, value)
  if (shown === 'erased') return undefined
  const beginning = JSON.stringify({
    topic,
    partition,
    offset: Number(offset),
    timestamp: new Date(timestampMs).toISOString(),
    key: key?.toString('utf8') ?? null,
    headers,
  })
  const bytes =
    value === undefined && record.value !== null ? `,"valueBase64":"${record.value.toString('base64')}"` : ''
  const json = shown === 'published' ? onOneLine(text, value) : JSON.stringify(shown)
  const line = `${beginning.slice(0, -1)},"value":${json}${bytes}}\n`
  const { organization, project } = isObject(value) ? value : {}
  return { line, organization, project }
}

/** Returns the JSON as published: serializing it again would dominate the cost of an export. */
function onOneLine(text: string | undefined, value: unknown): string {
  if (text === undefined || value === undefined) return 'null'
  if (!text.includes('\n') && !text.includes('\r')) return text
  try {
    return JSON.stringify(value)
  } catch (error) {
    // Nested too deep for `JSON.stringify`. A line break in JSON is white space: in a text it is escaped.
    if (error instanceof RangeError) return text.replaceAll(/[\r\n]/g, ' ')
    throw error
  }
}

/** Parses JSON; undefined if the text is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
