export interface ExampleConfig {
  /** Port to listen on; 0: any free port. */
  readonly port: number
  /** URL of the gateway. */
  readonly host: string
  /** The publishable key. */
  readonly key: string
}

/** Reads `PORT`, `NEXTVISIT_URL` and `NEXTVISIT_SDK_KEY`. */
export function readConfig(): ExampleConfig {
  const key = process.env['NEXTVISIT_SDK_KEY']
  if (!key) throw new Error('Set NEXTVISIT_SDK_KEY to the sdk key that `npx -y pnpm start` prints.')
  return {
    port: Number(process.env['PORT'] ?? 3000),
    host: process.env['NEXTVISIT_URL'] ?? 'http://127.0.0.1:8080',
    key,
  }
}
