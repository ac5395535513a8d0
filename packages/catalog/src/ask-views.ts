import type { LogAdmin } from '@nextvisit/log'
import { type CatalogProblem, describeProblem } from './catalog-view.ts'
import type { CatalogState } from './fold-catalog.ts'
import { parseViewReport, revisionsDigest, viewGroupPrefix, type ViewReport } from './view-report.ts'

/** The running processes, `<service>.<instance>`, by the catalog that they hold. */
export interface RunningViews {
  /** Processes with the latest revision of every organization. */
  readonly current: readonly string[]
  readonly lagging: readonly string[]
  /** Processes of a release that does not report its revisions. */
  readonly silent: readonly string[]
  /** The parts that processes do not understand. A process with problems can be current. */
  readonly problems: readonly ViewProblem[]
  /** The processes that read NEXTVISIT_SECRET_KEY, with the ids of its keys. */
  readonly secretKeyIds: ReadonlyMap<string, readonly string[]>
}

export interface ViewProblem extends CatalogProblem {
  /** The process that has the problem. */
  readonly view: string
}

/** Reads the reports of all running processes from their groups' notes. Groups without members belong to ended processes. */
export async function askViews(admin: LogAdmin, topic: string, state: CatalogState): Promise<RunningViews> {
  const [expected, isEmpty] = [revisionsDigest(state), state.organizations.size === 0]
  const prefix = viewGroupPrefix(topic)
  const report = {
    current: [] as string[],
    lagging: [] as string[],
    silent: [] as string[],
    problems: [] as ViewProblem[],
    secretKeyIds: new Map<string, readonly string[]>(),
  }
  for (const groupId of await admin.listGroups(prefix)) {
    const { members } = await admin.describeGroup(groupId)
    if (members.length === 0) continue
    const view = groupId.slice(prefix.length)
    const note = (await admin.groupNotes(groupId, topic)).get(0)
    const held = note === undefined ? undefined : parseViewReport(note)
    // A process that has read no record has committed no note.
    if (note === undefined) report[isEmpty ? 'current' : 'lagging'].push(view)
    else if (!held) report.silent.push(view)
    else {
      report[held.revisions === expected ? 'current' : 'lagging'].push(view)
      report.problems.push(...problemsOf(view, held))
      if (held.secretKeyIds) report.secretKeyIds.set(view, held.secretKeyIds)
    }
  }
  return report
}

function problemsOf(view: string, { problems, moreProblems }: ViewReport): readonly ViewProblem[] {
  const rest = { organization: '?', revision: null, usedRevision: 0, reason: `and ${moreProblems} more organizations` }
  return [...problems, ...(moreProblems > 0 ? [rest] : [])].map((problem) => ({ ...problem, view }))
}

/** Formats a problem: `gateway.1f2e…: revision 7 of acme is not understood; revision 6 is used: …` */
export function problemLine({ view, ...problem }: ViewProblem): string {
  return `${view}: ${describeProblem(problem)}`
}
