import { randomUUIDv7 } from 'node:crypto'
import { readCatalog } from '@nextvisit/catalog'
import { BODY_LIMITS, type ErasureReceipt, TOPICS, Uuid } from '@nextvisit/contracts'
import { checkUserName, userIdOf } from '@nextvisit/domain'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { Command, InvalidArgumentError } from 'commander'
import { recordChange } from '../changes/record-change.ts'
import { createErasureClients, type ErasureClients } from '../erasures/ask-erasures.ts'
import { countOf, previewErasure } from '../erasures/preview-erasure.ts'
import {
  awaitErasure,
  type BegunErasure,
  beginErasure,
  findErasure,
  storesLine,
  type WantedErasure,
} from '../erasures/run-erasure.ts'
import { previewRepeat, readTrustedReceipts } from '../erasures/trusted-receipts.ts'
import { logConnection, readEnvironment } from '../environment/config.ts'
import { CliError, EXIT } from '../errors.ts'
import { completeProject, findProject, PROJECT_HELP, projectName, type ProjectName } from '../find-project.ts'
import { parseProject, parseReceiptKey } from '../options.ts'
import { complain, print } from '../output/print.ts'
import { createProgress, formatCount } from '../output/progress.ts'

interface EraseFlags {
  readonly project?: ProjectName
  readonly user?: readonly string[]
  readonly suppress?: boolean
  readonly erasure?: string
  readonly receipts?: readonly string[]
  readonly key?: readonly string[]
  readonly yes?: boolean
  readonly wait: boolean
}

/** Creates the command. Specs pass their own `catalogTopic`. */
export function createCommand(catalogTopic: string = TOPICS.catalog): Command {
  return new Command('erase')
    .description('Erase users for good, in the read models, Redis and the log.')
    .option('--project <project>', PROJECT_HELP, parseProject)
    .option('--user <userName...>', 'exactly as given to identify-user; may be repeated')
    .option('--suppress', 'also refuse records of these users from now on: they must not return')
    .option('--erasure <erasureId>', 'instead of --user: show the status of an erasure, and print its receipt', parseId)
    .option('--receipts <file...>', 'instead of --user and --project: repeat these erasures, after a restore')
    .option(
      '--key <key...>',
      'with --receipts: also trust receipts with this public key, of before a rebuild',
      parseKeys,
    )
    .option('--yes', 'erase. Without it, the command only says what it would erase, and which names have no profile')
    .option('--no-wait', 'do not wait until the erasure is complete')
    .addHelpText(
      'after',
      `
Within a minute, the profiles are gone and no form waits. The users' data in the log becomes unreadable within ERASURE_KEY_RETENTION
(default 24 h): only then is the erasure complete. The command waits for it, and shows unfinished stores on standard error. Ctrl-C
ends only the command: the erasure continues. Then --erasure shows its status at once. Once an erasure is complete, the command prints
its signed receipt as one line of JSON.
Keep receipts outside of the installation. If the log itself is restored from a copy before an erasure, --receipts repeats it: see
docs/runbooks/restored.md. Erasures that the installation knows are skipped. Without --key, every receipt must be signed by the
installation's present key.
Reads INTERNAL_TOKEN, GATEWAY_INTERNAL_URLS, USER_ERASER_URLS and KAFKA_BROKERS; without --yes, also USER_PROJECTOR_URLS.
Exits with 0 if done; 1 if the erasure could not be requested, a receipt is not trusted, or the erasure of --erasure is not complete; 2 without --yes or if the
arguments are invalid.

Example:
  nextvisit erase --project acme/shop --user ada@example.com --yes > receipt.json
  nextvisit erase --project shop --user ada --user grace --suppress --yes --no-wait
  nextvisit erase --project shop --erasure 01a2066e-3ec0-780c-9db5-05517574891e > receipt.json
  nextvisit erase --receipts receipts/*.json --yes
  nextvisit erase --receipts receipts/*.json --key 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo --yes`,
    )
    .action((flags: EraseFlags) => erase(flags, catalogTopic))
}

const NAME_ONE =
  'Name the users by --project and --user, an erasure by --project and --erasure, or the receipts by --receipts.'

async function erase(flags: EraseFlags, catalogTopic: string): Promise<void> {
  const { project, user, erasure, receipts, key, suppress } = flags
  if ([user, erasure, receipts].filter((named) => named !== undefined).length !== 1)
    throw new CliError(NAME_ONE, EXIT.usage)
  if (suppress && !user)
    throw new CliError(
      '--suppress needs --user: an erasure and its receipt already say whether to suppress.',
      EXIT.usage,
    )
  if (key && !receipts) throw new CliError('--key needs --receipts.', EXIT.usage)
  if (receipts && !project) return eraseAgain(receipts, flags)
  if (project && user) return eraseUsers(project, user, flags, catalogTopic)
  if (project && erasure) return showErasure(project, erasure, catalogTopic)
  throw new CliError(NAME_ONE, EXIT.usage)
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
  const env = readEnvironment()
  const clients = createErasureClients(env)
  const connection = logConnection(env)
  // The erasure of a misspelt project would complete, too: its users are only unknown.
  const { state } = await readCatalog(connection, catalogTopic)
  const project = findProject(state, name)
  if (!yes) throw new CliError(await previewErasure({ project, userNames, suppress, connection, env }), EXIT.usage)
  const userIds = userNames.map((userName) => userIdOf(project.organization, project.project, userName))
  const wanted = { project, userIds, suppress, erasureId: randomUUIDv7() }
  await finish(clients, [[wanted, await recordErasure(env, clients, wanted)]], wait)
}

/** Shows the status of an erasure, and prints its receipt once there is one. */
async function showErasure(name: ProjectName, erasureId: string, catalogTopic: string): Promise<void> {
  const env = readEnvironment()
  const project = await completeProject(name, env, catalogTopic)
  const erasure = await findErasure(createErasureClients(env), { project, erasureId })
  if (!erasure) throw new CliError(`There is no erasure ${erasureId} in ${projectName(project)}.`)
  const { status, requestedAt, completedAt, users, receipt } = erasure
  const since = completedAt === undefined ? '' : `, complete ${completedAt}`
  complain(`Erasure ${erasureId} of ${countOf(users)} is ${status}. Requested ${requestedAt}${since}.`)
  if (receipt) return print(JSON.stringify(receipt))
  complain(storesLine(erasure))
  process.exitCode = EXIT.failed
}

/** Repeats the erasures of receipts that the installation does not know. */
async function eraseAgain(files: readonly string[], { key: keys = [], yes, wait }: EraseFlags): Promise<void> {
  const env = readEnvironment()
  const clients = createErasureClients(env)
  const receipts = await readTrustedReceipts(files, keys, clients)
  if (!yes) throw new CliError(previewRepeat(receipts, keys), EXIT.usage)
  const begun: [WantedErasure, BegunErasure][] = []
  for (const receipt of receipts) {
    const wanted = wantedBy(receipt)
    if (await findErasure(clients, wanted)) complain(`Erasure ${wanted.erasureId} is known, and was not repeated.`)
    else begun.push([wanted, await recordErasure(env, clients, wanted)])
  }
  await finish(clients, begun, wait)
}

function recordErasure(
  env: EnvironmentVariables,
  clients: ErasureClients,
  wanted: WantedErasure,
): Promise<BegunErasure> {
  const { project, userIds, suppress, erasureId } = wanted
  const details = { erasureId, users: userIds.length, suppress }
  return recordChange(
    env,
    { kind: 'users.erase', organization: project.organization, project: project.project, details },
    () => beginErasure(clients, wanted),
  )
}

function wantedBy({ organization, project, users, suppress, erasureId }: ErasureReceipt): WantedErasure {
  return { project: { organization, project }, userIds: users.map(({ userId }) => userId), suppress, erasureId }
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

function parseKeys(text: string, previous: readonly string[] = []): readonly string[] {
  return [...previous, parseReceiptKey(text)]
}

function parseId(text: string): string {
  if (Uuid.safeParse(text).success) return text
  throw new InvalidArgumentError('It must be the id of an erasure, a UUID.')
}
