import { setFlagsFromString } from 'node:v8'

/**
 * V8 sees where objects are made that outlive two collections of the new space, and makes them in the old space from then
 * on. In a consumer that is so wherever it works off a backlog. Afterwards each small batch would be made there, too, and
 * only large collections would free it (docs/reference/performance.md, Memory).
 */
export function forbidPretenuring(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
