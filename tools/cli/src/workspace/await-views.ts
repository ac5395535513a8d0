import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CatalogProblem,
  describeProblem,
  parseViewReport,
  readCatalog,
  revisionsDigest,
  viewGroupPrefix,
  type ViewReport,
} from '@nextvisit/catalog'
import { TOPICS } from '@nextvisit/contracts'
import { type LogAdmin, type LogConnection, withLogAdmin } from '@nextvisit/log'

export interface AwaitViewsOptions {
  readonly connection: LogConnection
  /** Default 15,000. */
  readonly withinMs?: number
  /** Default: `catalog`. */
  readonly topic?: string
}

/** What the running processes hold of the catalog, when all held it or the time was over: `<service>.<instance>` each. */
export interface ViewsReport {
  /** They have the latest revision of every organization. */
  readonly current: readonly string[]
  readonly lagging: readonly string[]
  /** They are of a release that does not report which revisions it holds. */
  readonly silent: readonly string[]
  /** What processes do not understand of it. A process with problems can be current. */
  readonly problems: readonly ViewProblem[]
}

export interface ViewProblem extends CatalogProblem {
  /** The process. */
  readonly view: string
}

const ASK_EVERY_MS = 100

/** Waits until every running process has the latest revision of every organization, as the log has them now. */
export async function awaitViews(options: AwaitViewsOptions): Promise<ViewsReport> {
  const { connection, withinMs = 15_000, topic = TOPICS.catalog } = options
  const giveUpAt = performance.now() + withinMs
  let expected = { end: -1n, revisions: '', isEmpty: true }
  return withLogAdmin(connection, async (admin) => {
    for (;;) {
      const end = (await admin.watermarks(topic)).get(0)?.high ?? 0n
      if (end !== expected.end) {
        const { state } = await readCatalog(connection, topic)
        expected = { end, revisions: revisionsDigest(state), isEmpty: state.organizations.size === 0 }
      }
      const report = await askViews(admin, topic, expected)
      if (report.lagging.length === 0 || performance.now() > giveUpAt) return report
      await sleep(ASK_EVERY_MS)
    }
  })
}

/** Groups without members are of processes that have ended. */
async function askViews(
  admin: LogAdmin,
  topic: string,
  expected: { readonly revisions: string; readonly isEmpty: boolean },
): Promise<ViewsReport> {
  const prefix = viewGroupPrefix(topic)
  const report = {
    current: [] as string[],
    lagging: [] as string[],
    silent: [] as string[],
    problems: [] as ViewProblem[],
  }
  for (const groupId of await admin.listGroups(prefix)) {
    const { members } = await admin.describeGroup(groupId)
    if (members.length === 0) continue
    const view = groupId.slice(prefix.length)
    const note = (await admin.groupNotes(groupId, topic)).get(0)
    const held = note === undefined ? undefined : parseViewReport(note)
    // A process that has read nothing has committed nothing.
    if (note === undefined) report[expected.isEmpty ? 'current' : 'lagging'].push(view)
    else if (!held) report.silent.push(view)
    else {
      report[held.revisions === expected.revisions ? 'current' : 'lagging'].push(view)
      report.problems.push(...problemsOf(view, held))
    }
  }
  return report
}

function problemsOf(view: string, { problems, moreProblems }: ViewReport): readonly ViewProblem[] {
  const rest = { organization: '?', revision: null, usedRevision: 0, reason: `and ${moreProblems} more organizations` }
  return [...problems, ...(moreProblems > 0 ? [rest] : [])].map((problem) => ({ ...problem, view }))
}

/** `gateway.1f2e…: revision 7 of acme is not understood; revision 6 is used: …` */
export function problemLine({ view, ...problem }: ViewProblem): string {
  return `${view}: ${describeProblem(problem)}`
}
