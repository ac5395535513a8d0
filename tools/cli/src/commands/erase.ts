import { randomUUIDv7 } from 'node:crypto'
import { BODY_LIMITS, type ErasureReceipt, type ProjectRef, TOPICS } from '@nextvisit/contracts'
import { checkUserName, userIdOf } from '@nextvisit/domain'
import { Command } from 'commander'
import { createErasureClients, type ErasureClients, requireToken } from '../erasures/ask-erasures.ts'
import { readReceipts } from '../erasures/read-receipts.ts'
import { awaitErasure, type BegunErasure, beginErasure, type WantedErasure } from '../erasures/run-erasure.ts'
import { readEnvironment } from '../environment/config.ts'
import { CliError, EXIT } from '../errors.ts'
import { completeProject, PROJECT_HELP, projectName, type ProjectName, requireProject } from '../find-project.ts'
import { parseProject } from '../options.ts'
import { complain, print } from '../output/print.ts'
import { createProgress, formatCount } from '../output/progress.ts'

interface EraseFlags {
  readonly project?: ProjectName
  readonly user?: readonly string[]
  readonly suppress?: boolean
  readonly receipts?: readonly string[]
  readonly yes?: boolean
  readonly wait: boolean
}

const MAX_NAMES_SHOWN = 20

export function createCommand(): Command {
  return new Command('erase')
    .description('Erase users for good, in the read models, Redis and the log.')
    .option('--project <project>', PROJECT_HELP, parseProject)
    .option('--user <userName...>', 'exactly as given to identify-user; may be repeated')
    .option('--suppress', 'also refuse records of these users from now on: they must not return')
    .option(
      '--receipts <file...>',
      'instead of --project and --user: repeat the erasures of these receipts, after a restore',
    )
    .option('--yes', 'erase. Without it, the command only says what it would erase')
    .option('--no-wait', 'do not wait until the erasure is complete')
    .addHelpText(
      'after',
      `
Within a minute, the profiles are gone and no form waits. The users' data in the log becomes unreadable within ERASURE_KEY_RETENTION
(default 24 h): only then is the erasure complete. The command waits for it, and shows each store on standard error. Ctrl-C ends
only the command: the erasure continues. When it is complete, its signed receipt is printed as one line of JSON.
Keep receipts outside of the installation. If the log itself is restored from a copy before an erasure, --receipts repeats it: see
docs/runbooks/restored.md. Erasures that the installation knows are skipped.
Reads INTERNAL_TOKEN, GATEWAY_INTERNAL_URLS, USER_ERASER_URLS and KAFKA_BROKERS.
Exits with 0 if done, 1 if the erasure could not be requested, 2 without --yes or if the arguments are invalid.

Example:
  nextvisit erase --project acme/shop --user ada@example.com --yes > receipt.json
  nextvisit erase --project shop --user ada --user grace --suppress --yes --no-wait
  nextvisit erase --receipts receipts/*.json --yes`,
    )
    .action((flags: EraseFlags) => erase(flags))
}

/** Runs the command. Specs pass their own `catalogTopic`. */
export async function erase(flags: EraseFlags, catalogTopic: string = TOPICS.catalog): Promise<void> {
  const { project, user, receipts } = flags
  if (receipts ? project !== undefined || user !== undefined || flags.suppress : !project || !user)
    throw new CliError('Name the users by --project and --user, or the receipts by --receipts.', EXIT.usage)
  if (receipts) return eraseAgain(receipts, flags)
  if (project && user) return eraseUsers(project, user, flags, catalogTopic)
}

async function eraseUsers(
  name: ProjectName,
  named: readonly string[],
  { suppress = false, yes, wait }: EraseFlags,
  catalogTopic: string,
): Promise<void> {
  const userNames = [...new Set(named)]
  for (const userName of userNames) {
    const rejection = checkUserName(userName)
    if (rejection) throw new CliError(`--user: ${rejection.message}.`, EXIT.usage)
  }
  if (userNames.length > BODY_LIMITS.erasedUserNames)
    throw new CliError(`Name at most ${formatCount(BODY_LIMITS.erasedUserNames)} users.`, EXIT.usage)
  if (!yes) throw new CliError(previewOf(projectName(name), userNames, suppress), EXIT.usage)
  const env = readEnvironment()
  const clients = createErasureClients(env)
  const project = await completeProject(name, env, catalogTopic)
  // A misspelt project would be erased, too: its users are only unknown.
  await requireProject(project, env, catalogTopic)
  const userIds = userNames.map((userName) => userIdOf(project.organization, project.project, userName))
  const wanted = { project, userIds, suppress, erasureId: randomUUIDv7() }
  await finish(clients, [[wanted, await beginErasure(clients, wanted)]], wait)
}

function previewOf(project: string, userNames: readonly string[], suppress: boolean): string {
  const shown = userNames.slice(0, MAX_NAMES_SHOWN).join(', ')
  const more = userNames.length > MAX_NAMES_SHOWN ? ` and ${userNames.length - MAX_NAMES_SHOWN} more` : ''
  return (
    `This would erase ${countOf(userNames.length)} of ${project} for good: ${shown}${more}. ` +
    `${suppress ? 'Their records would be refused from then on. ' : ''}Nothing was erased. Add --yes to erase.`
  )
}

/** Repeats the erasures of receipts that the installation does not know. */
async function eraseAgain(files: readonly string[], { yes, wait }: EraseFlags): Promise<void> {
  const receipts: ErasureReceipt[] = []
  for (const file of files) {
    for (const read of await readReceipts(file)) {
      if (read.outcome === 'invalid') throw new CliError(`${file}: ${read.reason}. Nothing was erased.`)
      receipts.push(read.receipt)
    }
  }
  const users = receipts.reduce((sum, receipt) => sum + receipt.users.length, 0)
  const what = `${formatCount(receipts.length)} ${receipts.length === 1 ? 'erasure' : 'erasures'} of ${countOf(users)}`
  if (!yes) throw new CliError(`This would repeat ${what}. Nothing was erased. Add --yes to erase.`, EXIT.usage)
  const clients = createErasureClients(readEnvironment())
  const begun: [WantedErasure, BegunErasure][] = []
  for (const receipt of receipts) {
    const wanted = wantedBy(receipt)
    if (await isKnown(clients, wanted)) complain(`Erasure ${wanted.erasureId} is known, and was not repeated.`)
    else begun.push([wanted, await beginErasure(clients, wanted)])
  }
  await finish(clients, begun, wait)
}

function wantedBy({ organization, project, users, suppress, erasureId }: ErasureReceipt): WantedErasure {
  return { project: { organization, project }, userIds: users.map(({ userId }) => userId), suppress, erasureId }
}

async function isKnown({ userEraser }: ErasureClients, { project, erasureId }: WantedErasure): Promise<boolean> {
  const asked = await userEraser.readErasure({ ...placeOf(project), erasureId })
  requireToken(asked)
  if (asked.outcome === 'answered' || asked.outcome === 'not-found') return asked.outcome === 'answered'
  throw new CliError(
    'The user-eraser does not answer, or lags, so known erasures cannot be told from lost ones. See nextvisit status.',
  )
}

function placeOf({ organization, project }: ProjectRef): ProjectRef {
  return { organization, project }
}

async function finish(
  clients: ErasureClients,
  begun: readonly (readonly [WantedErasure, BegunErasure])[],
  wait: boolean,
): Promise<void> {
  for (const [{ erasureId }, { users, unknown }] of begun)
    complain(`Erasure ${erasureId}: ${countOf(users)}, ${formatCount(unknown)} without a profile.`)
  if (!wait) {
    for (const [{ erasureId }] of begun) print(erasureId)
    return
  }
  const progress = createProgress()
  for (const [wanted] of begun) {
    const { receipt } = await awaitErasure(clients, wanted, progress).finally(progress.end)
    complain(`Erasure ${wanted.erasureId} is complete.`)
    if (receipt) print(JSON.stringify(receipt))
  }
}

function countOf(users: number): string {
  return `${formatCount(users)} ${users === 1 ? 'user' : 'users'}`
}
