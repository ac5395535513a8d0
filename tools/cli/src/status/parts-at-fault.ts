import type { Status } from './read-status.ts'

/**
 * Returns the parts that `nextvisit status` shows in red: an unavailable log or database, a consumer with an alarm or without
 * processes, and processes with a catalog that is behind or that they do not understand. Lag is no fault.
 */
export function partsAtFault({ log, consumers, keyRingFault }: Status): readonly string[] {
  const ofConsumers = consumers.filter(
    (consumer) =>
      consumer.status === 'away' ||
      consumer.alarms.length > 0 ||
      (log.status === 'available' && !log.services.some(({ service }) => service === consumer.service)),
  )
  const ofLog = log.status === 'away' || log.changedTopics.length > 0 ? ['log'] : []
  const ofCatalog =
    log.status === 'away'
      ? []
      : log.services.filter(({ hasCatalog, catalogProblems }) => !hasCatalog || catalogProblems.length > 0)
  const ofKeys = keyRingFault === null ? [] : ['NEXTVISIT_SECRET_KEY']
  return [...new Set([...ofLog, ...[...ofConsumers, ...ofCatalog].map(({ service }) => service), ...ofKeys])]
}
