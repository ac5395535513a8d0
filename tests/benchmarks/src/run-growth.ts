/**
 * `pnpm benchmark:growth [SCENARIO]`: measures the cost of a record for the consumers as the system grows: more
 * processes of each, projects, forms, users. Each scenario has its own stack, and its audit must find no difference.
 * SCENARIO is a part of a name, and selects scenarios besides the first.
 */
import type { ThrowAwayStack } from '@nextvisit/testing/black-box'
import { GROWTH_SCENARIOS } from './growth/growth-scenarios.ts'
import { type GrowthFigures, measureGrowth } from './growth/measure-growth.ts'
import { CLI, runNode } from './run-node.ts'

const FACTS = 60_000

const say = (line: string): void => console.error(line)

async function requireAudit(stack: ThrowAwayStack): Promise<void> {
  await runNode([CLI, 'audit'], { NEXTVISIT_DATA: stack.dataDirectory })
}

function lineOf(name: string, figures: GrowthFigures, first: GrowthFigures): string {
  const cells = (Object.keys(figures) as (keyof GrowthFigures)[]).map((of) => {
    const value = figures[of]
    const text = value >= 10 ? Math.round(value).toLocaleString('en') : value.toPrecision(2)
    return first[of] > 0 ? `${text} (${(value / first[of]).toFixed(2)}×)` : text
  })
  return `| ${[name, ...cells].join(' | ')} |`
}

const wanted = process.argv[2] ?? ''
const chosen = GROWTH_SCENARIOS.filter(({ name }, index) => index === 0 || name.includes(wanted))
const lines: string[] = []
let first: GrowthFigures | undefined
for (const scenario of chosen) {
  say(
    `${scenario.name}: ${scenario.factsBefore.toLocaleString('en')} facts before, then ${FACTS.toLocaleString('en')} …`,
  )
  const figures = await measureGrowth(scenario, FACTS, requireAudit)
  first ??= figures
  lines.push(lineOf(scenario.name, figures, first))
  say(lines.at(-1) ?? '')
}
console.log('\nIn brackets: the ratio to the first line. No audit found a difference.\n')
console.log(
  '| | records/s | consumers, CPU µs a record | Postgres | transactions a record | waiting for a lock | evaluator MB |',
)
console.log('|---|--:|--:|--:|--:|--:|--:|')
console.log(lines.join('\n'))
process.exit()
