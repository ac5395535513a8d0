import { TOPICS } from '@nextvisit/contracts'
import { Command } from 'commander'
import { readEnvironment } from '../environment/config.ts'
import { print } from '../output/print.ts'
import { askWhy, type Why, type WhyQuestion } from '../why/ask-why.ts'
import { decisionLines, queuedLine } from '../why/decision-lines.ts'

interface WhyFlags extends WhyQuestion {
  readonly json?: true
}

export function createCommand(): Command {
  return new Command('why')
    .description(
      'Explain why a form did, or did not, reach a user: each gate in order, with the values that it compared.',
    )
    .requiredOption('--project <project>', 'its id; organization/project if several organizations have this id')
    .requiredOption('--user <userName>', 'exactly as given to identify-user')
    .option('--form <form>', 'its id; default: all forms ever evaluated for the user')
    .option('--json', 'for scripts')
    .addHelpText(
      'after',
      `
Shows the last decision on each form and its state in the user's queue, including everything that was answered before.
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
  printWhy(answer, question)
}

function printWhy({ userName, forms, queue }: Why, { form }: WhyQuestion): void {
  if (forms.length === 0) print(neverEvaluated(form))
  for (const [index, decision] of forms.entries()) {
    if (index > 0) print()
    for (const line of decisionLines(decision, userName)) print(line)
  }
  if (queue.length === 0) return
  print('\nQueue:')
  for (const row of queue) print(`  ${queuedLine(row)}`)
}

function neverEvaluated(form: string | undefined): string {
  if (form === undefined) return 'No form was ever evaluated for this user: no trigger has matched yet.'
  return `${form} was never evaluated for this user: none of its triggers has matched yet.`
}
