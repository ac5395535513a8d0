import { figure } from '../parts/figures.ts'

/** `12 bytes`, `3.4 kB`; of no value: `no value`. */
export function bytesText(bytes: number | null): string {
  if (bytes === null) return 'no value'
  return bytes < 1_000 ? `${bytes} bytes` : `${figure(bytes / 1_000)} kB`
}
