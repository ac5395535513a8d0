import { setFlagsFromString } from 'node:v8'

/**
 * Turns off V8's allocation in the old space at sites whose objects often survive, as in a consumer that works off a
 * backlog. Later each small batch would be allocated in the old space, too, where only major collections free it
 * (performance.md, Memory).
 */
export function forbidPretenuring(): void {
  setFlagsFromString('--no-allocation-site-pretenuring')
}
