import { createLogger } from '@nextvisit/service-kit'
import { Registry } from 'prom-client'
import type { ProjectionParts } from './define-consumer.ts'

/** For a projection that is only rebuilt or tested: it logs nothing, nobody reads its metrics, and it replies to nobody. */
export function offlineParts(countPartitions: () => Promise<number>): ProjectionParts {
  return { logger: createLogger('rebuild', 'silent'), metrics: new Registry(), countPartitions }
}
