import { type Topic, TOPICS, USER_KEYS_TOPIC } from '@nextvisit/contracts'
import { Command, Option } from 'commander'
import { recordChange } from '../changes/record-change.ts'
import { logConnection, readEnvironment } from '../environment/config.ts'
import { CliError, EXIT } from '../errors.ts'
import { exportTopic } from '../export/export-topic.ts'
import { openOutput } from '../export/output-file.ts'
import { completeProject, PROJECT_HELP, projectName, type ProjectName } from '../find-project.ts'
import { parseInstant, parseProject } from '../options.ts'
import { complain } from '../output/print.ts'
import { createProgress, formatCount } from '../output/progress.ts'
import { showTopic } from '../shown-records/show-topic.ts'

interface ExportFlags {
  readonly topic: Topic
  readonly from?: number
  readonly to?: number
  readonly project?: ProjectName
  readonly out: string
}

export function createCommand(): Command {
  return new Command('export')
    .description('Write the records of a topic as NDJSON, one object per line.')
    .addOption(new Option('--topic <topic>', 'the topic').choices(Object.values(TOPICS)).default(TOPICS.userEvents))
    .option('--from <instant>', 'only records published at or after this day or instant', parseInstant)
    .option('--to <instant>', 'only records published before this day or instant', parseInstant)
    .option('--project <project>', `only records of this project: ${PROJECT_HELP}`, parseProject)
    .requiredOption('--out <file>', 'the target; gzip if the name ends in .gz; - is standard output')
    .addHelpText(
      'after',
      `
A line: {"topic","partition","offset","timestamp","key","headers","value"}; docs/reference/records.md describes every value. Times are
times of publishing. The export reads the records that exist when it begins, partition by partition. The same past range therefore
gives the same lines, until a user is erased: records before an erasure are left out, whatever keys there are. Sealed members of
user-events are opened, and take the place of "sealed". The file contains personal data: later erasures do not reach it.
An incomplete file is named FILE.<random>.part; remove such files of killed exports.
Reads KAFKA_BROKERS, and for user-events NEXTVISIT_SECRET_KEY.
Exits with 0 if done, 1 if failed or if the reader of standard output closed it before the end, 2 if the arguments are invalid.

Example:
  nextvisit export --project acme/shop --from 2026-10-01 --to 2026-11-01 --out october.ndjson.gz
  nextvisit export --topic form-events --out - | jq .value`,
    )
    .action(runExport)
}

/** Topics with records about users. */
const ABOUT_USERS: Readonly<Partial<Record<Topic, 'userEvents' | 'formEvents'>>> = {
  [TOPICS.userEvents]: 'userEvents',
  [TOPICS.formEvents]: 'formEvents',
}

async function runExport({ topic, from, to, project: name, out }: ExportFlags): Promise<void> {
  if (name && topic === TOPICS.catalog)
    throw new CliError('The catalog contains organizations: omit --project.', EXIT.usage)
  if (from !== undefined && to !== undefined && from >= to)
    throw new CliError('--from must be before --to.', EXIT.usage)
  const env = readEnvironment()
  const connection = logConnection(env)
  const project = name && (await completeProject(name, env, TOPICS.catalog))
  const counts = { erased: 0, closed: 0 }
  const onErased = () => void (counts.erased += 1)
  const onClosed = () => void (counts.closed += 1)
  const of = ABOUT_USERS[topic]
  const showPartition = of
    ? await showTopic({ connection, of, env, onErased, onClosed })
    : async () => () => 'published' as const
  const output = await openOutput(out)
  const startedAt = performance.now()
  const progress = createProgress()
  try {
    const write = () =>
      exportTopic({
        connection,
        topic,
        fromMs: from,
        toMs: to,
        project,
        showPartition,
        write: output.write,
        onUndecodable: (error) => complain(`Records are missing: ${error.message}`),
        onProgress: (read, whole, exported) => progress.report(whole === 0 ? 1 : read / whole, exported),
      })
    const wanted = { kind: 'records.export', organization: project?.organization, project: project?.project } as const
    const records = of
      ? await recordChange(env, { ...wanted, target: topic }, write, (count) => ({
          outcome: 'made',
          details: { records: count },
        }))
      : await write()
    await output.complete()
    progress.end()
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    complain(
      `Wrote ${formatCount(records)} records of ${topic} to ${out === '-' ? 'standard output' : out} in ${seconds} s.`,
    )
    if (counts.erased > 0) complain(`Left out ${formatCount(counts.erased)} records of erased users.`)
    if (counts.closed > 0)
      complain(
        `The sealed members of ${formatCount(counts.closed)} records stay sealed: their key is not in ${USER_KEYS_TOPIC}, or they are damaged.`,
      )
    if (records === 0 && project)
      complain(`${projectName(project)} has no record in that time; nextvisit status lists the organizations.`)
  } catch (error) {
    progress.end()
    await output.discard()
    throw error
  }
}
