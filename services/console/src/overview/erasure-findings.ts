import type { UnfinishedErasure } from '@nextvisit/contracts'
import type { Finding } from './api.ts'

const RUNBOOK = 'erasure'
/** Further ones are counted. */
const MAX_NAMED = 3

/**
 * Lists erasures that take longer than they should, oldest first. Keys may wait for Kafka; any other store holds data of people
 * who must be erased within a minute.
 */
export function erasureFindings(erasures: readonly UnfinishedErasure[]): readonly Finding[] {
  const overdue = erasures.filter(({ status }) => status === 'incomplete')
  const named = overdue.slice(0, MAX_NAMED).map(findingOf)
  const more = overdue.length - named.length
  if (more === 0) return named
  const text = `${more === 1 ? 'Another erasure is' : `${more} more erasures are`} incomplete.`
  return [...named, { severity: 'warning', text, asOf: null, runbook: RUNBOOK, links: [] }]
}

function findingOf({ organization, project, erasureId, users, stores }: UnfinishedErasure): Finding {
  const late = stores.filter(({ status }) => status === 'incomplete')
  const whose = users === 1 ? 'one user' : `${users} users`
  const words = late.map(({ store, because }) => (because === undefined ? store : `${store} (${because})`)).join(', ')
  return {
    severity: late.some(({ store }) => store !== 'user-keys') ? 'critical' : 'warning',
    text: `The erasure ${erasureId} of ${whose} in ${organization}/${project} is incomplete: ${words}.`,
    asOf: null,
    runbook: RUNBOOK,
    links: [{ screen: 'erasure', organization, project, erasureId }],
  }
}
