interface PreparedRequest {
  /** URL of the gateway, such as `http://127.0.0.1:8080`. */
  readonly url: string
  /** Path, such as `/v2/admin/track-event`. */
  readonly route: string
  readonly apiKey: string
  readonly body: object
}

/** Serializes a POST request once, so that sending it repeatedly is cheap. */
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
