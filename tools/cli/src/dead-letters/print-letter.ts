import { print } from '../output.ts'
import type { Letter } from './dead-letter-store.ts'

/** A dead letter as a person reads it. Keys are user ids, or whatever bytes were there. */
export function printLetter(name: string, letter: Letter): void {
  const { decidedAt, decidedBy, headers, key, value, valueBytes } = letter
  const lines: readonly (readonly [string, string])[] = [
    ['letter', name],
    ['state', decidedAt ? `${letter.state} (${decidedBy}, ${decidedAt.toISOString()})` : letter.state],
    ['cause', letter.cause],
    ['in the log', `${letter.topic}, partition ${letter.partition}, offset ${letter.offset}`],
    ['record time', letter.recordTime.toISOString()],
    ['dead since', `${letter.deadAt.toISOString()}, by version ${letter.serviceVersion} of the consumer`],
    ['key', key === null ? 'none' : readable(key)],
    ...Object.entries(headers).map(([header, text]) => [`header ${header}`, readable(Buffer.from(text))] as const),
    ['value', value ? readable(value) : valueOf(valueBytes)],
  ]
  const width = Math.max(...lines.map(([label]) => label.length))
  for (const [label, text] of lines) print(`${label.padEnd(width)}  ${text}`)
}

function valueOf(bytes: number | null): string {
  return bytes === null ? 'null' : `${bytes} bytes; --value shows them. They may hold personal data.`
}

/** Text where it is text; what would move a terminal's cursor, and other bytes, as escapes. */
function readable(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  if (!Buffer.from(text).equals(bytes)) return `\\x${bytes.toString('hex')}`
  return text.replaceAll(/\p{Cc}/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
