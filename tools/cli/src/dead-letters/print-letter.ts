import { escapeControls, readableBytes, type WholeDeadLetter } from '@nextvisit/consumer'
import { print } from '../output.ts'

/** A dead letter as a person reads it, its value only where it was asked for. Keys are user ids, or whatever bytes were there. */
export function printLetter(name: string, letter: WholeDeadLetter, withValue: boolean): void {
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
    ['value', value && withValue ? readable(value) : valueOf(valueBytes)],
  ]
  const width = Math.max(...lines.map(([label]) => label.length))
  for (const [label, text] of lines) print(`${label.padEnd(width)}  ${text}`)
}

function valueOf(bytes: number | null): string {
  return bytes === null ? 'null' : `${bytes} bytes; --value shows them. They may hold personal data.`
}

/** Text where it is text; other bytes as hex. */
function readable(bytes: Uint8Array): string {
  const { form, text } = readableBytes(bytes)
  return form === 'hex' ? `\\x${text}` : escapeControls(text)
}
