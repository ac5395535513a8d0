import { setTimeout as sleep } from 'node:timers/promises'
import { type KeptRefusal, type ProjectRef, TOPICS } from '@nextvisit/contracts'
import { checkUserName, userIdOf } from '@nextvisit/domain'
import { createLogger, createRedis, createRefusalStore, type StoredRefusals, redisConfig } from '@nextvisit/service-kit'
import { Command, InvalidArgumentError } from 'commander'
import { readEnvironment, readSettings } from '../environment/config.ts'
import { CliError, EXIT } from '../errors.ts'
import { completeProject, PROJECT_HELP, type ProjectName, requireProject } from '../find-project.ts'
import { parseProject } from '../options.ts'
import { complain, print, styled } from '../output/print.ts'
import { untilInterrupted } from '../output/until-interrupted.ts'

export interface RefusalsFlags {
  readonly project: ProjectName
  readonly reason?: string
  readonly user?: string
  readonly limit: number
  readonly json?: true
  readonly follow?: true
}

/** The flags with the project that `project` names. */
type Shown = RefusalsFlags & { readonly place: ProjectRef }

type Read = () => Promise<StoredRefusals>

const FOLLOW_EVERY_MS = 1_000
const ANSWER_WITHIN_MS = 2_000

export function createCommand(): Command {
  return new Command('refusals')
    .description("Show a project's recently refused requests and items, and the counts of 24 hours.")
    .requiredOption('--project <project>', PROJECT_HELP, parseProject)
    .option('--reason <reason>', 'only refusals with this reason, a name in the counts')
    .option('--user <userName>', 'only refusals of this user, exactly as given to identify-user')
    .option('--limit <count>', 'number of latest refusals', parseLimit, 20)
    .option('--json', 'for scripts: one object; with --follow one refusal per line')
    .option('--follow', 'print new refusals until Ctrl-C')
    .addHelpText(
      'after',
      `
Oldest first. The gateways keep the latest 50 of each reason, and during a flood 10 a second; the counts include all. With --user, the
counts are of the kept refusals of this user. No userName, value or
name chosen by a caller is kept; requestId is the X-Request-Id of the answer. Redis may lose refusals. Reads REDIS_URL, and
KAFKA_BROKERS for the workspace; with organization/project only if there are no refusals, to check that the project exists.
Exits with 0 with or without refusals, after Ctrl-C, and if the reader closed the pipe; 1 if Redis is unavailable, 2 if the arguments are invalid.

Example:
  nextvisit refusals --project shop --follow
  nextvisit refusals --project acme/shop --json | jq .counts`,
    )
    .action((flags: RefusalsFlags) => refusals(flags))
}

function parseLimit(text: string): number {
  if (/^[1-9]\d{0,3}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('It must be a whole number from 1 to 9999.')
}

/** Runs the command. Specs pass their own `topic`. */
export async function refusals(flags: RefusalsFlags, topic: string = TOPICS.catalog): Promise<void> {
  const rejection = flags.user === undefined ? undefined : checkUserName(flags.user)
  if (rejection) throw new CliError(`--user: ${rejection.message}.`, EXIT.usage)
  const env = readEnvironment()
  const { redisUrl: url } = readSettings(redisConfig, env)
  const place = await completeProject(flags.project, env, topic)
  const logger = createLogger('nextvisit-cli', 'silent')
  const redis = createRedis({ url, name: 'nextvisit-cli', logger, commandTimeoutMs: ANSWER_WITHIN_MS })
  await redis.start()
  try {
    const { read } = createRefusalStore(redis.client)
    await show(
      () => read(place, Date.now(), flags.reason),
      { ...flags, place },
      () => requireProject(place, env, topic),
    )
  } finally {
    await redis.stop()
  }
}

async function show(read: Read, flags: Shown, requireKnown: () => Promise<void>): Promise<void> {
  const first = await read().catch((cause: unknown) => {
    const message = 'Redis, where the gateways keep refusals, does not answer: see REDIS_URL.'
    throw new CliError(message, EXIT.failed, { cause })
  })
  const kept = ofUser(first.refusals, flags)
  const counts = countsOf(first, kept, flags)
  const latest = kept.slice(0, flags.limit).toReversed()
  if (Object.keys(first.counts).length === 0) await requireKnown()
  if (flags.json && !flags.follow) return print(JSON.stringify({ refusals: latest, counts }, null, 2))
  if (!flags.json) printCounts(counts, flags)
  printAll(latest, flags)
  if (latest.length < kept.length)
    complain(`Shown: the latest ${latest.length} of ${kept.length} kept refusals. Use --limit to show more.`)
  if (flags.follow) await untilInterrupted((signal) => follow(read, first.refusals, flags, signal))
}

/** Prints new refusals until the signal ends it. Reports an outage of Redis once and continues. */
async function follow(read: Read, shown: readonly KeptRefusal[], flags: Shown, signal: AbortSignal): Promise<void> {
  let known = new Set(shown.map(({ id }) => id))
  let isAway = false
  while (!signal.aborted) {
    await sleep(FOLLOW_EVERY_MS, undefined, { signal }).catch(() => undefined)
    const { refusals: all } = signal.aborted ? { refusals: [] } : await read().catch(() => ({ refusals: undefined }))
    if (!all && !isAway) complain('Redis does not answer: new refusals may be missing. Retrying.')
    isAway = !all
    if (!all) continue
    printAll(
      ofUser(all, flags)
        .filter(({ id }) => !known.has(id))
        .toReversed(),
      flags,
    )
    known = new Set(all.map(({ id }) => id))
  }
}

function ofUser(all: readonly KeptRefusal[], { user, place }: Shown): readonly KeptRefusal[] {
  if (user === undefined) return all
  const userId = userIdOf(place.organization, place.project, user)
  return all.filter((refusal) => refusal.userId === userId)
}

/** Counts are stored by reason. Those of one user are of the kept refusals, which do not include all. */
function countsOf(
  { counts }: StoredRefusals,
  kept: readonly KeptRefusal[],
  { user, reason }: RefusalsFlags,
): StoredRefusals['counts'] {
  if (user !== undefined)
    return Object.fromEntries([...Map.groupBy(kept, (one) => one.reason)].map(([name, all]) => [name, all.length]))
  return reason === undefined ? counts : Object.fromEntries(Object.entries(counts).filter(([name]) => name === reason))
}

function printCounts(counts: StoredRefusals['counts'], { user, reason }: RefusalsFlags): void {
  const sorted = Object.entries(counts).toSorted(([, one], [, other]) => other - one)
  const words = sorted.map(([name, count]) => `${name} ${count}`).join(', ')
  if (user !== undefined) return print(words ? `Kept refusals of ${user}: ${words}` : `No refusal of ${user} is kept.`)
  if (words === '')
    return print(`Nothing was refused${reason === undefined ? '' : ` as ${reason}`} in the last 24 hours.`)
  print(`Refused in the last 24 hours: ${words}`)
}

function printAll(all: readonly KeptRefusal[], { json }: RefusalsFlags): void {
  for (const refusal of all) print(json ? JSON.stringify(refusal) : lineOf(refusal))
}

function lineOf({ at, status, reason, message, route, item, key, requestId, userId, event }: KeptRefusal): string {
  const where = item === undefined ? route : `${route} item ${item}`
  const about = [`key ${key.name} (${key.kind}, ${key.environment})`, `request ${requestId}`]
  if (userId !== undefined) about.push(`user ${userId}`)
  if (event !== undefined) about.push(`event ${event}`)
  return `${at}  ${styled('red', `${status} ${reason}`)}  ${where}: ${message} [${about.join(', ')}]`
}
