import type { ShownText } from '@nextvisit/contracts'

/**
 * Returns bytes of a record in readable form. JSON stays as it is; in other text, control characters become escapes:
 * `\u0000`. `isCut`: the bytes are the beginning of a longer value, which may end within a character.
 */
export function showBytes(bytes: Uint8Array, isCut = false): ShownText {
  const text = decode(bytes, isCut)
  if (text === undefined) return { form: 'hex', text: Buffer.from(bytes).toString('hex'), isCut }
  return isJson(text) ? { form: 'json', text, isCut } : { form: 'text', text: escapeControls(text), isCut }
}

/** Escapes control characters, which move a terminal's cursor and which pages do not show. */
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
