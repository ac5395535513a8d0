import type { IncomingMessage, ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { serveOnLoopback } from './black-box/serve-on-loopback.ts'

/** A span as a collector gets it. */
export interface ReceivedSpan {
  /** `service.name` of its resource. */
  readonly service: string
  readonly name: string
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer'
  readonly traceId: string
  readonly spanId: string
  /** Absent: it begins a trace. */
  readonly parentSpanId: string | undefined
  readonly beganAtNs: bigint
  readonly endedAtNs: bigint
  readonly attributes: Readonly<Record<string, unknown>>
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly isFailed: boolean
}

const KINDS = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const
const STATUS_ERROR = 2n

/** Starts a collector of traces on this machine: OTLP over HTTP, in protobuf. */
export async function startOtlpReceiver() {
  const spans: ReceivedSpan[] = []
  const requests: { readonly path: string | undefined; readonly headers: IncomingMessage['headers']; bytes: Buffer }[] =
    []
  let status: number | 'none' = 200

  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const bytes = await buffer(request)
    requests.push({ path: request.url, headers: request.headers, bytes })
    if (status === 'none') return
    if (status === 200) spans.push(...readSpans(bytes))
    response.writeHead(status, { 'content-type': 'application/x-protobuf' }).end()
  }

  const { url, stop } = await serveOnLoopback((request, response) => void receive(request, response))
  return {
    url,
    spans: (): readonly ReceivedSpan[] => spans,
    requests: () => requests,
    /** `none`: it takes requests, and never answers. Default: 200. */
    answerWith: (next: typeof status) => void (status = next),
    stop,
  }
}

export type OtlpReceiver = Awaited<ReturnType<typeof startOtlpReceiver>>

/** A message of protobuf: the values of each field, by its number. Numbers are `bigint`, everything else is bytes. */
type Message = ReadonlyMap<number, readonly (bigint | Buffer)[]>

function readSpans(request: Buffer): readonly ReceivedSpan[] {
  return messagesOf(read(request), 1).flatMap((resourceSpans) => {
    const resource = messagesOf(resourceSpans, 1).map((one) => attributesOf(one, 1))
    const service = String(resource[0]?.['service.name'])
    return messagesOf(resourceSpans, 2).flatMap((scope) => messagesOf(scope, 2).map((span) => spanOf(service, span)))
  })
}

function spanOf(service: string, span: Message): ReceivedSpan {
  const [status] = messagesOf(span, 15)
  return {
    service,
    name: textOf(span, 5),
    kind: KINDS[Number(numberOf(span, 6))] ?? 'internal',
    traceId: hexOf(span, 1),
    spanId: hexOf(span, 2),
    parentSpanId: hexOf(span, 4) || undefined,
    beganAtNs: numberOf(span, 7),
    endedAtNs: numberOf(span, 8),
    attributes: attributesOf(span, 9),
    links: messagesOf(span, 13).map((link) => ({ traceId: hexOf(link, 1), spanId: hexOf(link, 2) })),
    isFailed: status !== undefined && numberOf(status, 3) === STATUS_ERROR,
  }
}

function attributesOf(message: Message, field: number): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    messagesOf(message, field).map((pair) => [textOf(pair, 1), messagesOf(pair, 2).map(valueOf)[0]]),
  )
}

function valueOf(value: Message): unknown {
  if (value.has(1)) return textOf(value, 1)
  if (value.has(2)) return numberOf(value, 2) === 1n
  if (value.has(3)) return Number(numberOf(value, 3))
  return messagesOf(value, 5).flatMap((array) => messagesOf(array, 1).map(valueOf))
}

function messagesOf(message: Message, field: number): readonly Message[] {
  return (message.get(field) ?? []).map((bytes) => read(bytes as Buffer))
}

function textOf(message: Message, field: number): string {
  return String(message.get(field)?.[0] ?? '')
}

function hexOf(message: Message, field: number): string {
  return ((message.get(field)?.[0] as Buffer | undefined) ?? Buffer.alloc(0)).toString('hex')
}

function numberOf(message: Message, field: number): bigint {
  return (message.get(field)?.[0] as bigint | undefined) ?? 0n
}

const [VARINT, FIXED_64, BYTES, FIXED_32] = [0, 1, 2, 5]

function read(bytes: Buffer): Message {
  const fields = new Map<number, (bigint | Buffer)[]>()
  let at = 0
  const varint = (): bigint => {
    let [value, shift] = [0n, 0n]
    for (;;) {
      const byte = bytes.readUInt8(at)
      at += 1
      value |= BigInt(byte & 0x7f) << shift
      shift += 7n
      if (byte < 0x80) return value
    }
  }
  const skip = (count: number): number => {
    at += count
    return at - count
  }
  const readValue = (type: number): bigint | Buffer => {
    if (type === VARINT) return varint()
    if (type === FIXED_64) return bytes.readBigUInt64LE(skip(8))
    if (type === FIXED_32) return BigInt(bytes.readUInt32LE(skip(4)))
    if (type !== BYTES) throw new RangeError(`Unknown wire type ${type}`)
    const length = Number(varint())
    const from = skip(length)
    return bytes.subarray(from, from + length)
  }
  while (at < bytes.length) {
    const tag = Number(varint())
    const field = tag >> 3
    fields.set(field, [...(fields.get(field) ?? []), readValue(tag & 7)])
  }
  return fields
}
