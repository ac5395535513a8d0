/** Bytes of a record as somebody reads them. */
export interface ReadableBytes {
  /** `hex`: they are no text in UTF-8. */
  readonly form: 'json' | 'text' | 'hex'
  /** Of JSON the text as it is. Of other text, control characters are escapes: `\u0000`. */
  readonly text: string
}

/** `isCut`: they are the beginning of a longer value, which may end within a character. */
export function readableBytes(bytes: Uint8Array, isCut = false): ReadableBytes {
  const text = decode(bytes, isCut)
  if (text === undefined) return { form: 'hex', text: Buffer.from(bytes).toString('hex') }
  return isJson(text) ? { form: 'json', text } : { form: 'text', text: escapeControls(text) }
}

/** Without what would move a terminal's cursor, or what a page does not show. */
export function escapeControls(text: string): string {
  return text.replaceAll(/\p{Cc}/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

function decode(bytes: Uint8Array, isCut: boolean): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut })
  } catch {
    return undefined
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
