import { connect, type Socket } from 'node:net'

export interface HttpAnswer {
  /** HTTP status; undefined if the connection broke before the answer was complete. */
  readonly status: number | undefined
  readonly body: string
}

/** A persistent connection with one request at a time. It opens with the first request, and reopens after a failure. */
export interface HttpConnection {
  readonly send: (request: Buffer, onAnswer: (answer: HttpAnswer) => void) => void
  readonly close: () => void
}

const BROKEN: HttpAnswer = { status: undefined, body: '' }
const STATUS_AT = 'HTTP/1.1 '.length

/** Creates a connection that reads only the status and a body with a `Content-Length`. */
export function createHttpConnection(url: string): HttpConnection {
  const { hostname, port } = new URL(url)
  let socket: Socket | undefined
  let received: Buffer | undefined
  let onAnswer: ((answer: HttpAnswer) => void) | undefined

  const answer = (given: HttpAnswer): void => {
    const waiting = onAnswer
    onAnswer = undefined
    waiting?.(given)
  }
  const onData = (chunk: Buffer): void => {
    received = received ? Buffer.concat([received, chunk]) : chunk
    const complete = parseAnswer(received)
    if (!complete) return
    received = undefined
    answer(complete)
  }
  const open = (): Socket => {
    const opened = connect(Number(port), hostname).setNoDelay(true)
    opened.on('data', onData)
    opened.on('error', () => {}) // `close` follows
    opened.on('close', () => {
      if (socket !== opened) return
      socket = undefined
      received = undefined
      answer(BROKEN)
    })
    return opened
  }

  return {
    send: (request, whenAnswered) => {
      onAnswer = whenAnswered
      socket ??= open()
      socket.write(request)
    },
    close: () => socket?.destroy(),
  }
}

/** Parses an answer; undefined while it is incomplete. */
function parseAnswer(received: Buffer): HttpAnswer | undefined {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const head = received.toString('latin1', 0, headEnd)
  const bodyAt = headEnd + 4
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length === undefined) throw new Error(`The load generator reads only answers with Content-Length:\n${head}`)
  const bodyEnd = bodyAt + Number(length)
  if (received.length < bodyEnd) return undefined
  return { status: Number(head.slice(STATUS_AT, STATUS_AT + 3)), body: received.toString('latin1', bodyAt, bodyEnd) }
}
