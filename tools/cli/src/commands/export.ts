import { TOPICS, type Topic } from '@nextvisit/contracts'
import { Command, Option } from 'commander'
import { logConnection, readEnvironment } from '../config.ts'
import { CliError, EXIT } from '../errors.ts'
import { exportTopic } from '../export/export-topic.ts'
import { openOutput } from '../export/output-file.ts'
import { parseInstant, parseProject, type ProjectOption } from '../options.ts'
import { complain } from '../output.ts'
import { count, createProgress } from '../progress.ts'

interface ExportFlags {
  readonly topic: Topic
  readonly from?: number
  readonly to?: number
  readonly project?: ProjectOption
  readonly out: string
}

export function exportCommand(): Command {
  return new Command('export')
    .summary('Take records out, as NDJSON.')
    .description('Write the records of a topic as NDJSON, one object a line.')
    .addOption(new Option('--topic <topic>', 'which one').choices(Object.values(TOPICS)).default(TOPICS.userEvents))
    .option('--from <instant>', 'published then or later; a day or an instant', parseInstant)
    .option('--to <instant>', 'published before', parseInstant)
    .option('--project <organization/project>', "only this project's", parseProject)
    .requiredOption('--out <file>', 'where to, compressed if it ends in .gz; - is standard output')
    .addHelpText(
      'after',
      `
A line: {"topic","partition","offset","timestamp","key","headers","value"}; docs/records.md describes every value. Goes by
the time of publishing. Reads what is there when it begins, partition by partition, so that the same range gives the same
lines again. The file has its name only once it is whole; until then it is FILE.part. Ends with 0 done, 1 failed, 2 called wrongly.

Example:
  nextvisit export --project acme/shop --from 2026-10-01 --to 2026-11-01 --out october.ndjson.gz
  nextvisit export --topic form-events --out - | jq .value`,
    )
    .action(runExport)
}

async function runExport({ topic, from, to, project, out }: ExportFlags): Promise<void> {
  if (project && topic === TOPICS.catalog)
    throw new CliError('The catalog holds organizations: leave --project out.', EXIT.usage)
  if (from !== undefined && to !== undefined && from >= to)
    throw new CliError('--from must lie before --to.', EXIT.usage)
  const connection = logConnection(readEnvironment())
  const output = await openOutput(out)
  const startedAt = performance.now()
  const progress = createProgress()
  try {
    const records = await exportTopic({
      connection,
      topic,
      fromMs: from,
      toMs: to,
      project,
      write: output.write,
      onProgress: (read, whole, exported) => progress.report(whole === 0 ? 1 : read / whole, exported),
    })
    await output.complete()
    progress.end()
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
    complain(
      `${count(records)} records of ${topic} are in ${out === '-' ? 'standard output' : out}, after ${seconds} s.`,
    )
    if (records === 0 && project)
      complain(
        `None is of ${project.organization}/${project.project} in that time; nextvisit status shows what there is.`,
      )
  } catch (error) {
    progress.end()
    await output.discard()
    throw error
  }
}
