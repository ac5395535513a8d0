export interface PreparedRequest {
  /** Of the gateway: `http://127.0.0.1:8080` */
  readonly url: string
  /** `/v2/admin/track-event` */
  readonly route: string
  readonly apiKey: string
  readonly body: object
}

/** A POST request as it goes over the wire, so that sending it again costs nothing but the sending. */
export function requestBytes({ url, route, apiKey, body }: PreparedRequest): Buffer {
  const text = JSON.stringify(body)
  const head = [
    `POST ${route} HTTP/1.1`,
    `host: ${new URL(url).host}`,
    `x-api-key: ${apiKey}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(text)}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`)
}
