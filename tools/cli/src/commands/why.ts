import { TOPICS } from '@nextvisit/contracts'
import { Command } from 'commander'
import { readEnvironment } from '../environment/config.ts'
import { PROJECT_HELP } from '../find-project.ts'
import { parseProject } from '../options.ts'
import { print } from '../output/print.ts'
import { askWhy, type Why, type WhyQuestion } from '../why/ask-why.ts'
import { explanationLines, queuedLine } from '../why/explanation-lines.ts'

interface WhyFlags extends WhyQuestion {
  readonly json?: true
}

export function createCommand(): Command {
  return new Command('why')
    .description(
      'Explain why a form did, or did not, reach a user: each gate in order, with the values that it compared.',
    )
    .requiredOption('--project <project>', PROJECT_HELP, parseProject)
    .requiredOption('--user <userName>', 'exactly as given to identify-user')
    .option('--form <form>', 'its id; default: all forms of the project, and removed ones with a decision')
    .option('--json', 'for scripts')
    .addHelpText(
      'after',
      `
Shows for each form its state in the user's queue, then the last decision, including everything that was answered before.
Of a form that was never evaluated it shows how far the user is, and a later event that was too old to trigger it.
Reads FORM_TRIGGER_EVALUATOR_URLS and INTERNAL_TOKEN, and KAFKA_BROKERS for the workspace. The output contains values of traits and properties.
Exits with 0 in either case, 1 if there is no such user or a part is unavailable, 2 if the arguments are invalid.

Example:
  nextvisit why --project shop --user ada@example.com --form nps-after-checkout
  nextvisit why --project acme/shop --user ada@example.com --json | jq '.forms[] | {formId, reason}'`,
    )
    .action((flags: WhyFlags) => why(flags))
}

/** Runs the command. Specs pass their own `topic`. */
export async function why({ json, ...question }: WhyFlags, topic: string = TOPICS.catalog): Promise<void> {
  const answer = await askWhy(readEnvironment(), question, topic)
  if (json) return print(JSON.stringify(answer, null, 2))
  printWhy(answer)
}

function printWhy({ explanations, queue, project }: Why): void {
  if (explanations.length === 0) print(`Project ${project} has no forms.`)
  for (const [index, explanation] of explanations.entries()) {
    if (index > 0) print()
    for (const line of explanationLines(explanation)) print(line)
  }
  if (queue.length === 0) return
  print('\nQueue:')
  for (const row of queue) print(`  ${queuedLine(row)}`)
}
