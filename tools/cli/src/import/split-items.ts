import { CliError, EXIT } from '../errors.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const BACKSLASH = 0x5c
const [LEFT_BRACKET, RIGHT_BRACKET] = [0x5b, 0x5d]
const [LEFT_BRACE, RIGHT_BRACE] = [0x7b, 0x7d]
const SPACE = 0x20
/** The bytes of a byte order mark. */
const MARK: readonly number[] = [0xef, 0xbb, 0xbf]

/**
 * Yields the items of a JSON array without parsing them: commas outside of strings and brackets separate them.
 * Arrays may follow each other. An item longer than `maxBytes` is cut after `maxBytes` + 1.
 */
export async function* splitItems(
  file: string,
  stream: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<Buffer> {
  /** Brackets that are open. 0: outside of an array; 1: between its items. */
  let depth = 0
  let isInString = false
  let isEscaped = false
  let items = 0
  let parts: Buffer[] = []
  let partBytes = 0

  const add = (part: Buffer): void => {
    const kept = part.subarray(0, Math.max(0, maxBytes + 1 - partBytes))
    // A copy, because the parts of a long item would otherwise keep whole chunks.
    if (kept.length > 0) parts.push(Buffer.from(kept))
    partBytes += kept.length
  }
  const end = (part: Buffer): Buffer | undefined => {
    add(part)
    const bytes = Buffer.concat(parts)
    parts = []
    partBytes = 0
    if (bytes.every((byte) => byte <= SPACE)) return undefined
    items += 1
    return bytes
  }

  for await (const chunk of stream) {
    let from = 0
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at] ?? 0
      if (depth === 0) {
        if (byte === LEFT_BRACKET) depth = 1
        else if (byte > SPACE && !MARK.includes(byte)) throw notAnArray(file, items)
        from = at + 1
      } else if (isInString) {
        if (isEscaped) isEscaped = false
        else if (byte === BACKSLASH) isEscaped = true
        else if (byte === QUOTE) isInString = false
      } else if (byte === QUOTE) isInString = true
      else if (byte === LEFT_BRACKET || byte === LEFT_BRACE) depth += 1
      else if ((byte === COMMA && depth === 1) || byte === RIGHT_BRACKET || byte === RIGHT_BRACE) {
        if (byte !== COMMA) depth -= 1
        // A bracket within an item.
        if (byte !== COMMA && depth > 0) continue
        const item = end(chunk.subarray(from, at))
        from = at + 1
        if (item) yield item
      }
    }
    if (depth > 0) add(chunk.subarray(from))
  }
  if (depth > 0)
    throw new CliError(
      `${file} ends within its JSON array: provide the whole file, and run the import again; records in the log are unaffected.`,
      EXIT.failed,
    )
}

function notAnArray(file: string, items: number): CliError {
  return new CliError(
    `${file} begins with a JSON array, and something else follows its item ${items}: a file is either arrays or lines.`,
    EXIT.failed,
  )
}
