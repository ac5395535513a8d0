import { type DryRunOutcome, type FormTallies, TOPICS } from '@nextvisit/contracts'
import { print, printTable, styled } from '../output/print.ts'
import type { Period, SimulatedProject } from './simulate-forms.ts'
import { type FormTally, topRefusals } from './form-tally.ts'

/** Result of a dry run. */
export interface DryRun extends Pick<DryRunOutcome, 'records' | 'unreadable' | 'since' | 'users'> {
  readonly period: Period
  readonly projects: readonly SimulatedProject[]
}

const REFUSALS_SHOWN = 3
const ABSENT = '-'

/** Prints a table per project. */
export function printDryRun({ records, unreadable, since, users, period, projects }: DryRun): void {
  const from = new Date(period.from).toISOString()
  const to = new Date(period.to).toISOString()
  print(
    `Read ${records} records of ${users} ${users === 1 ? 'user' : 'users'} from ${TOPICS.userEvents} and ${TOPICS.formEvents}. Evaluated the records received from ${from} to ${to}.`,
  )
  if (since !== null) {
    print(
      styled(
        'yellow',
        `All records were read only since ${since} (--max-records). Earlier activity is unknown and counts as none.`,
      ),
    )
  }
  if (unreadable > 0)
    print(styled('yellow', `${unreadable} records are unreadable; every consumer keeps them as dead letters.`))
  for (const project of projects) {
    print()
    print(styled('bold', `${project.organization}/${project.project}`))
    printProject(project)
  }
  print()
  print('Nothing was changed: this was a dry run.')
}

function printProject({ tallies: { proposed, today } }: SimulatedProject): void {
  const forms = [...new Set([...proposed.keys(), ...(today?.keys() ?? [])])]
  if (forms.length === 0) return print('No forms.')
  printTable(
    ['FORM', 'USERS', 'TODAY', 'QUEUED', 'TODAY', 'DELIVERED', 'TODAY', 'EVALUATED', 'MOSTLY REFUSED AS'],
    forms.map((form) => {
      const next = proposed.get(form)
      const now = today?.get(form)
      return [
        form,
        next?.users ?? ABSENT,
        now?.users ?? ABSENT,
        next?.queued ?? ABSENT,
        now?.queued ?? ABSENT,
        next?.delivered ?? ABSENT,
        now?.delivered ?? ABSENT,
        next?.evaluated ?? ABSENT,
        next ? mostlyRefused(next) : 'removed',
      ]
    }),
  )
}

function mostlyRefused(tally: FormTally): string {
  return topRefusals(tally)
    .slice(0, REFUSALS_SHOWN)
    .map(([reason, times]) => `${reason} ${times}`)
    .join(', ')
}

/** Returns the result as JSON. Form ids are values, never member names. */
export function dryRunAsJson({ period, projects, ...counts }: DryRun): DryRunOutcome {
  return {
    from: new Date(period.from).toISOString(),
    to: new Date(period.to).toISOString(),
    ...counts,
    projects: projects.map(({ organization, project, tallies: { proposed, today } }) => ({
      organization,
      project,
      forms: [...new Set([...proposed.keys(), ...(today?.keys() ?? [])])].map((form) => ({
        form,
        proposed: talliesOf(proposed.get(form)),
        today: talliesOf(today?.get(form)),
      })),
    })),
  }
}

function talliesOf(tally: FormTally | undefined): FormTallies | null {
  if (!tally) return null
  const { users, queued, delivered, evaluated } = tally
  const refused = topRefusals(tally).map(([reason, times]) => ({ reason, times }))
  return { users, queued, delivered, evaluated, refused }
}
