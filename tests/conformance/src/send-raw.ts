import { connect } from 'node:net'
import { STATUS_CODES } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { UUID_V7 } from './call.ts'
import { baseAddress } from './product.ts'

interface RawAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

const WITHIN_MS = 5_000

/** Sends bytes on a new connection. Resolves to `count` answers, including `100 Continue`, or fewer after 5 s. */
export async function sendRaw(bytes: string | Buffer, count = 1): Promise<readonly RawAnswer[]> {
  const socket = connect(Number(baseAddress().port), '127.0.0.1')
  const chunks: Buffer[] = []
  // An error closes the connection, so no more answers follow.
  socket.on('data', (chunk) => chunks.push(chunk)).on('error', () => undefined)
  socket.write(bytes)
  const giveUpAt = performance.now() + WITHIN_MS
  let answers: readonly RawAnswer[] = []
  while (answers.length < count && !socket.closed && performance.now() < giveUpAt) {
    await sleep(5)
    answers = parseAnswers(Buffer.concat(chunks))
  }
  socket.destroy()
  for (const { status, headers, body } of answers.filter((answer) => answer.status >= 200)) {
    expect(headers['x-request-id'], 'X-Request-Id').toMatch(UUID_V7)
    if (status >= 400)
      expect(body).toEqual({ status, error: STATUS_CODES[status], message: expect.stringMatching(/./) })
  }
  return answers
}

/** Parses all complete answers. Every answer of the product has a Content-Length. */
function parseAnswers(bytes: Buffer): readonly RawAnswer[] {
  const answers: RawAnswer[] = []
  for (let at = 0; ; ) {
    const headEnd = bytes.indexOf('\r\n\r\n', at)
    if (headEnd === -1) return answers
    const [statusLine = '', ...lines] = bytes.toString('latin1', at, headEnd).split('\r\n')
    const headers = Object.fromEntries(
      lines.map((line) => line.split(/:\s*/, 2)).map(([name = '', value = '']) => [name.toLowerCase(), value]),
    )
    const bodyEnd = headEnd + 4 + Number(headers['content-length'] ?? 0)
    if (bytes.length < bodyEnd) return answers
    const status = Number(statusLine.split(' ')[1])
    const text = bytes.toString('utf8', headEnd + 4, bodyEnd)
    at = bodyEnd
    answers.push({ status, headers, body: text === '' ? {} : JSON.parse(text) })
  }
}
