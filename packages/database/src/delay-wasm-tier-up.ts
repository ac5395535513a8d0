import { setFlagsFromString } from 'node:v8'

/** Bytes of a function's code that run before V8 optimizes it, four times V8's own number. */
const TIERING_BUDGET = 52_000_000

/**
 * Prisma compiles queries in WebAssembly. While a service opens its clients, one large function of it, which reads
 * the data model, just reaches V8's budget. To optimize it took 0.19 s of CPU, and it hardly runs again. Queries cost the same.
 * To be called before the first client connects; it holds for the whole process.
 */
export function delayWasmTierUp(): void {
  setFlagsFromString(`--wasm-tiering-budget=${TIERING_BUDGET}`)
}
