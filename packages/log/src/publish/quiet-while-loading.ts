import { hasType } from '../connect/kafkajs-errors.ts'
import type { Logger } from '../connect/log-connection.ts'

/**
 * Returns a logger that reports a coordinator which loads its state as `info`: a broker that has just started does so for a
 * moment. Other failures stay warnings.
 */
export function quietWhileLoading(logger: Pick<Logger, 'info' | 'warn'>): Pick<Logger, 'warn'> {
  return {
    warn: (fields, message) => {
      const isLoading = 'err' in fields && hasType(fields.err, 'GROUP_LOAD_IN_PROGRESS')
      logger[isLoading ? 'info' : 'warn'](fields, message)
    },
  }
}
