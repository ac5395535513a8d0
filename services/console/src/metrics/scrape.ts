import { Agent, get } from 'node:http'

const ANSWER_WITHIN_MS = 2_000
const MAX_BYTES = 4 * 2 ** 20
/** Keeps no connection: processes come and go. */
const agent = new Agent({ maxSockets: 1 })

/** Reads the metrics of a process as text. Rejects if it does not answer in time. */
export function scrape(baseUrl: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(ANSWER_WITHIN_MS)
    const request = get(new URL('/metrics', baseUrl), { agent, signal }, (response) => {
      const chunks: Buffer[] = []
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength
        if (bytes > MAX_BYTES) request.destroy(new RangeError('The metrics are too long'))
        else chunks.push(chunk)
      })
      response.on('error', reject)
      response.on('end', () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks).toString())
        else reject(new Error(`/metrics answered ${response.statusCode}`))
      })
    })
    request.on('error', reject)
  })
}
