import { type CatalogState, readCatalog } from '@nextvisit/catalog'
import {
  answerCollectorCalls,
  type Environment,
  type FormContent,
  type ProjectRef,
  TOPICS,
  userProjectorCalls,
} from '@nextvisit/contracts'
import { addressesConfig, createCallClient, createInternalClient, internalTokenConfig } from '@nextvisit/service-kit'
import { createErasureView } from '@nextvisit/user-keys'
import { Command, Option } from 'commander'
import { recordChange } from '../changes/record-change.ts'
import { type AnswerFormat, createCsvLines, NDJSON } from '../answers-export/answer-lines.ts'
import { exportAnswers, type Exported } from '../answers-export/export-answers.ts'
import { logConnection, readEnvironment, readSettings } from '../environment/config.ts'
import { requireCurrent } from '../erasures/require-current.ts'
import { CliError, EXIT } from '../errors.ts'
import { openOutput } from '../export/output-file.ts'
import { findProject, knownNames, PROJECT_HELP, type ProjectName, projectName } from '../find-project.ts'
import { parseProject } from '../options.ts'
import { complain } from '../output/print.ts'
import { createProgress, formatCount } from '../output/progress.ts'

export interface AnswersExportFlags {
  readonly project: ProjectName
  readonly form: string
  readonly environment: Environment
  readonly format: AnswerFormat
  readonly out: string
}

/** Longer than a screen waits: a consumer may be busy, and the export must be complete. */
const ANSWER_WITHIN_MS = 10_000

export function createCommand(): Command {
  return new Command('answers')
    .description('Export the answers of users to a form.')
    .addHelpText(
      'after',
      '\nExample:\n  nextvisit answers export --project demo/shop --form nps-after-checkout --format csv --out nps.csv',
    )
    .addCommand(
      new Command('export')
        .description('Write the answers of users to a form, newest first.')
        .requiredOption('--project <project>', PROJECT_HELP, parseProject)
        .requiredOption('--form <form>', 'its id; also of a removed form')
        .addOption(new Option('--environment <environment>', 'P: production; T: test').choices(['P', 'T']).default('P'))
        .addOption(new Option('--format <format>', 'the format of a line').choices(['ndjson', 'csv']).default('ndjson'))
        .option('--out <file>', 'the target; gzip if the name ends in .gz; - is standard output', '-')
        .addHelpText(
          'after',
          `
ndjson: an answer is an object as in GET /v2/admin/forms/{formId}/answers. csv: a table in UTF-8 with a header, and a column for each
element of every revision: answers.<id>. Options of a list are separated by ; and texts in place of an option are in answers.<id>.other.
An apostrophe comes before a text, or a part of it, that a spreadsheet would compute, such as =1+1.
Answers of erased users are left out. The file contains personal data: later erasures do not reach it.
An incomplete file is named FILE.<random>.part; remove such files of killed exports.
Reads KAFKA_BROKERS, ANSWER_COLLECTOR_URLS, USER_PROJECTOR_URLS and INTERNAL_TOKEN.
Exits with 0 if done, 1 if a part is unavailable or lags (named on standard error), 2 if the arguments are invalid.

Example:
  nextvisit answers export --project demo/shop --form nps-after-checkout --format csv --out nps.csv
  nextvisit answers export --project demo/shop --form nps-after-checkout | jq .answers.score`,
        )
        .action((flags: AnswersExportFlags) => answersExport(flags)),
    )
}

/** Runs the command. Specs pass their own topics. */
export async function answersExport(
  { project: name, form: formId, environment, format, out }: AnswersExportFlags,
  topics: Readonly<Record<'catalog' | 'erasures', string>> = TOPICS,
): Promise<void> {
  const env = readEnvironment()
  const connection = logConnection(env)
  const config = addressesConfig('answer-collector', 'user-projector').and(internalTokenConfig)
  const { services, internalToken: token } = readSettings(config, env)
  const clientOf = (service: keyof typeof services) =>
    createInternalClient({ addresses: services[service], token, timeoutMs: ANSWER_WITHIN_MS })
  const { state } = await readCatalog(connection, topics.catalog, { withFormContents: format === 'csv' })
  const place = placeOf(state, name)
  const lines = format === 'csv' ? createCsvLines(contentsOf(state, place, formId)) : NDJSON
  const erasures = createErasureView(connection, { topic: topics.erasures })
  const progress = createProgress()
  const startedAt = performance.now()
  await erasures.start()
  try {
    await requireCurrent(erasures)
    const output = await openOutput(out)
    try {
      const exported = await recordChange(
        env,
        {
          kind: 'answers.export',
          organization: place.organization,
          project: place.project,
          target: formId,
          details: { environment },
        },
        () =>
          exportAnswers({
            answerCollector: createCallClient(answerCollectorCalls, clientOf('answer-collector')),
            userProjector: createCallClient(userProjectorCalls, clientOf('user-projector')),
            erasures,
            form: { ...place, formId, environment },
            lines,
            write: output.write,
            onProgress: (answers) => progress.pause(`${formatCount(answers)} answers`),
          }),
        (end) => ({ outcome: 'made', details: { answers: end.outcome === 'written' ? end.answers : 0 } }),
      )
      if (exported.outcome === 'unknown') {
        requireForm(state, place, formId)
        await output.write(lines.head)
      }
      await output.complete()
      progress.end()
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1)
      report(exported, `of ${formId} to ${out === '-' ? 'standard output' : out} in ${seconds} s`)
    } catch (error) {
      await output.discard()
      throw error
    }
  } finally {
    progress.end()
    await erasures.stop()
  }
}

/** Returns the named project. With its organization, it may have been removed. */
function placeOf(state: CatalogState, { organization, project }: ProjectName): ProjectRef {
  return organization === undefined ? findProject(state, { project }) : { organization, project }
}

/** Returns the contents of every revision of the form, the newest first. */
function contentsOf(
  { contents, organizations }: CatalogState,
  place: ProjectRef,
  formId: string,
): readonly FormContent[] {
  const latest = organizations.get(place.organization)?.latestRevision ?? 0
  return Array.from({ length: latest }, (_, index) => latest - index).flatMap(
    (revision) => contents?.content(place, formId, revision) ?? [],
  )
}

/** Throws unless a form without counts is in the workspace. */
function requireForm(state: CatalogState, place: ProjectRef, formId: string): void {
  const { config, notUnderstood } = findProject(state, place)
  const ids = [...config.forms, ...notUnderstood.filter(({ kind }) => kind === 'form')].map(({ id }) => id)
  if (!ids.includes(formId))
    throw new CliError(
      `Project ${projectName(place)} has no form ${formId}, and never had answers to one. ${knownNames('form', ids)}`,
      EXIT.usage,
    )
}

function report(exported: Exported, where: string): void {
  const { answers, erased, isStale } =
    exported.outcome === 'written' ? exported : { answers: 0, erased: 0, isStale: false }
  complain(`Wrote ${formatCount(answers)} ${answers === 1 ? 'answer' : 'answers'} ${where}.`)
  if (erased > 0) complain(`Left out ${formatCount(erased)} of erased users.`)
  if (isStale)
    throw new CliError('The latest answers may be missing, because the answer collector lags: export them again later.')
}
