import { ByteReader } from './byte-reader.ts'

/** A request of Kafka's protocol and the decoder of its response, in the format of kafkajs' connections. */
export interface Message<Answer> {
  readonly request: {
    readonly apiKey: number
    readonly apiVersion: number
    readonly apiName: string
    readonly encode: () => Promise<KafkajsEncoder>
  }
  readonly response: {
    decode(payload: Buffer): Promise<DecodedResponse<Answer>>
    parse(decoded: DecodedResponse<Answer>): Promise<Answer>
  }
  readonly requestTimeout: number
}

/** The encoder interface of kafkajs, which has the same bytes under two names. */
interface KafkajsEncoder {
  readonly buf: Buffer
  readonly buffer: Buffer
  readonly size: () => number
}

interface DecodedResponse<Answer> {
  readonly answer: Answer
  /** Time in ms for which the broker throttles this client. kafkajs' connection obeys. */
  readonly clientSideThrottleTime: number
}

interface MessageParts<Answer> {
  readonly apiName: string
  readonly apiKey: number
  readonly apiVersion: number
  readonly encode: () => Buffer
  readonly decode: (reader: ByteReader) => Promise<DecodedResponse<Answer>>
  /** Request timeout in ms. The connection's timeout applies if it is longer. */
  readonly timeoutMs?: number
}

export function createMessage<Answer>({
  encode,
  decode,
  timeoutMs = 0,
  ...api
}: MessageParts<Answer>): Message<Answer> {
  return {
    request: {
      ...api,
      encode: async () => {
        const buffer = encode()
        return { buf: buffer, buffer, size: () => buffer.length }
      },
    },
    response: {
      decode: (payload) => decode(new ByteReader(payload)),
      parse: async ({ answer }) => answer,
    },
    requestTimeout: timeoutMs,
  }
}
