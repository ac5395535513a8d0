/**
 * `pnpm benchmark:evaluations`: measures records evaluated against a project of 50 forms, per second of one core, with the
 * evaluator's index and with a loop over all forms. It measures CPU time, so a busy machine gives the same result. The
 * compared values of each gate are included; database access is not.
 */
import { applyEvent, compileForms, evaluateForms, type FormIndex } from '@nextvisit/domain'
import { evaluationLoad, type Evaluation } from './evaluation-load.ts'
import { median } from './percentile.ts'

const ROUNDS = 3
const CPU_SECONDS = 1
const GOAL = 100_000

interface Measured {
  readonly perSecond: number
  readonly decided: number
}

interface Program {
  readonly name: string
  readonly evaluations: readonly Evaluation[]
  /** Returns the number of decided forms. */
  readonly run: (one: Evaluation) => number
}

const { project, evaluations } = evaluationLoad()
const index = compileForms(project)
const everyForm = [...index.byId.values()]
const unindexed: FormIndex = { ...index, onEvent: () => everyForm, onVisit: everyForm }

const programs: readonly Program[] = [
  { name: 'by the index', evaluations, run: ({ user, context }) => evaluateForms(index, user, context).length },
  {
    name: 'looping over all',
    evaluations,
    run: ({ user, context }) => evaluateForms(unindexed, user, context).length,
  },
  // This program changes its users, so it has its own load.
  { name: 'by the index, the event folded first', evaluations: evaluationLoad().evaluations, run: foldAndEvaluate },
]

for (const program of programs) measure(program) // warm
const rounds = Array.from({ length: ROUNDS }, () => programs.map(measure))
printTable()

function foldAndEvaluate({ user, context, fact }: Evaluation): number {
  if (fact) applyEvent(user, fact)
  return evaluateForms(index, user, context).length
}

/** Measures evaluations per second of CPU time, and decided forms per evaluation. */
function measure({ run, evaluations: load }: Program): Measured {
  let count = 0
  let decided = 0
  const before = process.cpuUsage()
  let spentSeconds = 0
  while (spentSeconds < CPU_SECONDS) {
    for (const evaluation of load) decided += run(evaluation)
    count += load.length
    const { user, system } = process.cpuUsage(before)
    spentSeconds = (user + system) / 1e6
  }
  return { perSecond: count / spentSeconds, decided: decided / count }
}

function printTable(): void {
  console.log(
    `| ${project.forms.length} forms, ${evaluations.length} records | per second of a core, by round | ratio | forms decided per record |`,
  )
  console.log('|---|---|---|---|')
  const base = median(rounds.map((round) => round[1]?.perSecond ?? 0))
  for (const [at, { name }] of programs.entries()) {
    const speeds = rounds.map((round) => round[at]?.perSecond ?? 0)
    const shown = speeds.map((speed) => Math.round(speed).toLocaleString('en-US')).join(' ')
    console.log(
      `| ${name} | ${shown} | ${(median(speeds) / base).toFixed(1)} | ${rounds[0]?.[at]?.decided.toFixed(2)} |`,
    )
  }
  const reached = median(rounds.map((round) => round[0]?.perSecond ?? 0)) >= GOAL
  console.log(`\nThe goal is ${GOAL.toLocaleString('en-US')} per second of a core: ${reached ? 'reached' : 'MISSED'}.`)
  if (!reached) process.exitCode = 1
}
