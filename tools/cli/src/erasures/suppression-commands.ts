import { type ProjectRef, type SuppressionsPage, TOPICS } from '@nextvisit/contracts'
import { checkUserName, userIdOf } from '@nextvisit/domain'
import { endOfLift } from '@nextvisit/operator-changes'
import type { CallOutcome } from '@nextvisit/service-kit'
import { Command } from 'commander'
import { recordChange } from '../changes/record-change.ts'
import { createErasureClients, type ErasureClients, requireToken } from './ask-erasures.ts'
import { readEnvironment } from '../environment/config.ts'
import { CliError, EXIT } from '../errors.ts'
import { completeProject, PROJECT_HELP, projectName, type ProjectName, requireProject } from '../find-project.ts'
import { parseProject } from '../options.ts'
import { print } from '../output/print.ts'

const PAGE = 1_000
const UNAVAILABLE = 'No gateway can answer now. See nextvisit status.'

interface SuppressionFlags {
  readonly project: ProjectName
}

const READS = 'Reads INTERNAL_TOKEN, GATEWAY_INTERNAL_URLS, USER_ERASER_URLS and KAFKA_BROKERS.'

/** Creates the commands that list and delete suppressions. */
export function createSuppressionCommands(): readonly Command[] {
  return [
    new Command('suppressed')
      .description(
        'List the suppressed users of a project, oldest first, one JSON object per line: hash, since, erasureId.',
      )
      .requiredOption('--project <project>', PROJECT_HELP, parseProject)
      .addHelpText(
        'after',
        `
${READS}
Exits with 0 if done, 1 if no gateway answers, 2 if the arguments are invalid.

Example:
  nextvisit users suppressed --project acme/shop`,
      )
      .action(list),
    new Command('unsuppress')
      .description(
        'Delete the suppression of a user, who may then be identified again. Nothing that was erased comes back.',
      )
      .requiredOption('--project <project>', PROJECT_HELP, parseProject)
      .requiredOption('--user <userName>', 'exactly as given to identify-user')
      .addHelpText(
        'after',
        `
${READS}
Exits with 0 if done, 1 if the user is not suppressed or no gateway answers, 2 if the arguments are invalid.

Example:
  nextvisit users unsuppress --project acme/shop --user ada@example.com`,
      )
      .action(lift),
  ]
}

async function list({ project: name }: SuppressionFlags): Promise<void> {
  const { clients, project } = await openProject(name)
  let after: string | undefined
  do {
    const page = await readPage(clients, project, after)
    for (const suppression of page.suppressions) print(JSON.stringify(suppression))
    after = page.next ?? undefined
  } while (after !== undefined)
}

async function readPage({ gateway }: ErasureClients, project: ProjectRef, after?: string): Promise<SuppressionsPage> {
  const asked = await gateway.readSuppressions({ ...project, limit: PAGE, after })
  requireToken(asked)
  const page = asked.outcome === 'answered' ? asked.answer.page : null
  if (!page) throw new CliError(UNAVAILABLE)
  return page
}

async function lift({ project: name, user }: SuppressionFlags & { readonly user: string }): Promise<void> {
  const rejection = checkUserName(user)
  if (rejection) throw new CliError(`--user: ${rejection.message}.`, EXIT.usage)
  const { clients, project, env } = await openProject(name)
  const userId = userIdOf(project.organization, project.project, user)
  const asked = await recordChange(
    env,
    { kind: 'suppression.lift', ...project, details: { userId } },
    () => clients.gateway.liftSuppression({ ...project, userId }),
    (called) => endOfLift(outcomeOf(called)),
  )
  requireToken(asked)
  const outcome = outcomeOf(asked)
  if (outcome === 'unavailable') throw new CliError(UNAVAILABLE)
  if (outcome === 'unknown') throw new CliError(`${user} is not suppressed in ${projectName(project)}.`)
  print(`The suppression of ${user} in ${projectName(project)} is deleted.`)
}

function outcomeOf<Outcome>(asked: CallOutcome<{ readonly outcome: Outcome }>): Outcome | 'unavailable' {
  return asked.outcome === 'answered' ? asked.answer.outcome : 'unavailable'
}

async function openProject(name: ProjectName) {
  const env = readEnvironment()
  const clients = createErasureClients(env)
  const { organization, project } = await completeProject(name, env, TOPICS.catalog)
  await requireProject({ organization, project }, env, TOPICS.catalog)
  return { clients, project: { organization, project }, env }
}
