import { CALLS, consumerCalls, gatewayCalls, type LogPosition, userProjectorCalls } from '@nextvisit/contracts'
import { type LogConnection, toError } from '@nextvisit/log'
import {
  type Addresses,
  createAddresses,
  createCallClient,
  createInternalClient,
  type EnvironmentVariables,
  type Send,
} from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import { readUserKeys } from '@nextvisit/user-keys'
import { CliError } from '../errors.ts'
import { type Fences, readFences, RECORD_TOPICS, type RecordTopics } from '../shown-records/fences.ts'
import { createShowContent, type ShowContent } from '../shown-records/shown-content.ts'
import { createUserKeyOpener } from '../shown-records/user-key-opener.ts'
import { createPersonWriter, type Person, type PersonWriter } from './person-writer.ts'
import { writeConsumer, writeRefusals } from './read-services.ts'
import { partitionOf, writeRecords } from './write-records.ts'

export interface ExportPersonOptions {
  /** Without `userName`, the user projector is asked for it. */
  readonly person: Person
  readonly connection: LogConnection
  /** Internal addresses by service. */
  readonly services: Readonly<Record<string, Addresses>>
  readonly token: string
  /** With NEXTVISIT_SECRET_KEY, which opens sealed records. */
  readonly env: EnvironmentVariables
  /** For specs, which use their own topics. */
  readonly topics?: RecordTopics
  readonly write: (text: string) => Promise<void>
  readonly onProgress: (read: number, whole: number, records: number) => void
}

/** Longer than a screen waits: a consumer may be busy, and the export must be complete. */
const ANSWER_WITHIN_MS = 10_000

/** `unknown`: nothing names the person, and nothing was written. */
type Exported =
  | { readonly outcome: 'unknown' }
  | { readonly outcome: 'written'; readonly lines: number; readonly missing: ReturnType<PersonWriter['missing']> }

/**
 * Writes everything that is known about a person: rows, dead letters and refusals from the services, then records from the
 * log. A source that cannot be read is named in the summary and in `missing`.
 */
export async function exportPerson({
  person: named,
  connection,
  services,
  token,
  env,
  topics = RECORD_TOPICS,
  write,
  onProgress,
}: ExportPersonOptions): Promise<Exported> {
  const clientOf = (service: string) =>
    createInternalClient({ addresses: services[service] ?? createAddresses([]), token, timeoutMs: ANSWER_WITHIN_MS })
  const person = named.userName === undefined ? await withUserName(named, clientOf('user-projector')) : named
  const names = consumers.map(({ name }) => name)
  const sources = [...names, 'gateway', topics.userEvents, topics.formEvents]
  const writer = createPersonWriter({ person, sources, exportedAt: new Date().toISOString(), write })
  const log = await readLogOf(person, { connection, env, topics })
  const isErased = log instanceof Error ? () => false : log.isErased
  for (const name of names)
    await writeConsumer(name, createCallClient(consumerCalls, clientOf(name)), { person, writer, isErased })
  await writeRefusals(createCallClient(gatewayCalls, clientOf('gateway')), person, writer)
  for (const name of ['userEvents', 'formEvents'] as const) {
    const topic = topics[name]
    if (log instanceof Error) writer.miss(topic, log.message)
    else
      await writeRecords({ connection, topic, userId: person.userId, showContent: log.show[name], writer, onProgress })
  }
  if (writer.lineCount() === 0 && writer.missing().length === 0) return { outcome: 'unknown' }
  await writer.end()
  return { outcome: 'written', lines: writer.lineCount(), missing: writer.missing() }
}

/** The content to write of the person's records, and a test for erased dead letters. */
interface PersonLog {
  readonly show: Readonly<Record<'userEvents' | 'formEvents', ShowContent>>
  readonly isErased: (letter: LogPosition) => boolean
}

type LogOptions = Pick<ExportPersonOptions, 'connection' | 'env'> & { readonly topics: RecordTopics }

/** Returns the error of a log that cannot be read. Throws {@link CliError}, such as of a missing NEXTVISIT_SECRET_KEY. */
async function readLogOf(person: Person, options: LogOptions): Promise<PersonLog | Error> {
  try {
    return await readFencesAndKeys(person, options)
  } catch (error) {
    if (error instanceof CliError) throw error
    return toError(error)
  }
}

async function readFencesAndKeys({ userId }: Person, { connection, env, topics }: LogOptions): Promise<PersonLog> {
  const fences = await readFences({ connection, topics, of: 'userEvents', userId })
  const ofForms = await readFences({ connection, topics, of: 'formEvents', userId })
  const partitions = [await partitionOf(connection, topics.userEvents, userId)]
  const isWanted = (other: string): boolean => other === userId
  const keys = await readUserKeys(connection, { topic: topics.userKeys, partitions, isWanted })
  const opener = createUserKeyOpener(keys, env)
  return {
    show: {
      userEvents: withoutFences(createShowContent({ fences, keys: opener })),
      formEvents: withoutFences(createShowContent({ fences: ofForms, keys: opener })),
    },
    isErased: (letter) => isErasedLetter(letter, fences, { userId, topic: topics.userEvents }),
  }
}

/** The fence itself is no record about the person: a consumer's line of type `erasure` names the erasure. */
function withoutFences(showContent: ShowContent): ShowContent {
  return (record, value) => {
    const type = (value as { readonly type?: unknown } | null | undefined)?.type
    return type === 'UserErased' || type === 'QueueErased' ? 'erased' : showContent(record, value)
  }
}

function isErasedLetter(
  { topic, partition, offset }: LogPosition,
  fences: Fences,
  of: { readonly userId: string; readonly topic: string },
): boolean {
  const fence = fences.ofUser(of.userId)
  return topic === of.topic && fence?.partition === partition && BigInt(offset) < fence.offset
}

async function withUserName(person: Person, send: Send): Promise<Person> {
  const { organization, project, userId } = person
  const questions = [{ organization, project, userId }]
  const asked = await createCallClient(userProjectorCalls, send).readUserNames({ questions })
  const [named] = asked.outcome === 'answered' ? asked.answer.answers : []
  return { ...person, userName: named?.userName ?? undefined }
}

/** Services that the export asks. */
export const ASKED_SERVICES = Object.keys(CALLS) as (keyof typeof CALLS)[]
