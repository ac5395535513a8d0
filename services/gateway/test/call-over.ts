import { type IncomingHttpHeaders, request as httpRequest } from 'node:http'

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The parsed body. */
  readonly body: Record<string, unknown>
}

/** Sends a request to a port of this machine. */
export function callOver(
  port: number,
  call: { method: string; path: string; headers: Record<string, string>; body?: string | Buffer | undefined },
): Promise<Reply> {
  const { method, path, headers, body } = call
  return new Promise((resolve, reject) => {
    const request = httpRequest({ port, host: '127.0.0.1', method, path, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
        })
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}
