import { PLAN_LIMITS } from '@nextvisit/contracts'
import { type Sample, totalsOf } from '../metrics/sample.ts'
import type { ReachedLimit } from '../registry/reached-limits.ts'
import type { Finding } from './api.ts'

export interface LimitParts {
  /** Samples of the last hour, or since the console started. */
  readonly samples: readonly Sample[]
  readonly isWholeHour: boolean
  /** Reached limits, as far as known. */
  readonly reached: readonly ReachedLimit[]
}

/** Reports reached limits, and limits with refusals, which were reached at that time. */
export function limitFindings({ samples, isWholeHour, reached }: LimitParts): readonly Finding[] {
  const refused = totalsOf(samples, 'refusal')
  return PLAN_LIMITS.flatMap(({ name, refusal, title }) => {
    const own = onePerSubject(reached.filter(({ line }) => line.name === name))
    const count = refused.get(refusal ?? '') ?? 0
    const period = isWholeHour ? 'in the last hour' : 'since the console started'
    const refusals = count === 0 || own.length > 1 ? '' : `${count} refused ${period}`
    if (own.length > 0) return own.map((limit) => reachedFinding(limit, refusals))
    if (count === 0) return []
    const requests = count === 1 ? '1 request was' : `${count} requests were`
    const text = `${requests} refused because of a limit (${title.toLowerCase()}) ${period}.`
    return [
      { severity: 'warning', text, asOf: null, runbook: null, links: [{ screen: 'refusals', project: null }] } as const,
    ]
  })
}

/** Keeps one of the projects that share a limit of their organization. */
function onePerSubject(reached: readonly ReachedLimit[]): readonly ReachedLimit[] {
  return [...new Map(reached.map((limit) => [subjectOf(limit), limit])).values()]
}

function subjectOf({ organization, project, line }: ReachedLimit): string {
  return line.of === 'organization' ? organization : `${organization}/${project}`
}

function reachedFinding(reached: ReachedLimit, refusals: string): Finding {
  const { organization, project, line, readAtMs } = reached
  const projectName = `${organization}/${project}`
  const { title, used, limit, words } = line
  const counts = [`${used} of ${limit}`, refusals].filter((part) => part !== '').join(', ')
  return {
    severity: 'warning',
    text: `${subjectOf(reached)}: ${title.toLowerCase()}, ${counts}. ${words}`,
    asOf: new Date(readAtMs).toISOString(),
    runbook: null,
    links: [
      { screen: 'registry', project: projectName },
      { screen: 'refusals', project: line.of === 'organization' ? null : projectName },
    ],
  }
}
