import { CALLS, consumerCalls, gatewayCalls, TOPICS, userProjectorCalls } from '@nextvisit/contracts'
import type { LogConnection } from '@nextvisit/log'
import { createCallClient, createInternalClient, type Send } from '@nextvisit/service-kit'
import { consumers } from '@nextvisit/services'
import { createPersonWriter, type Person, type PersonWriter } from './person-writer.ts'
import { writeConsumer, writeRefusals } from './read-services.ts'
import { writeRecords } from './write-records.ts'

export interface ExportPersonOptions {
  /** Without `userName`, the user projector is asked for it. */
  readonly person: Person
  readonly connection: LogConnection
  /** Internal addresses by service. */
  readonly services: Readonly<Record<string, readonly string[]>>
  readonly token: string
  /** For specs, which use their own topics. */
  readonly topics?: { readonly userEvents: string; readonly formEvents: string }
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
  topics = TOPICS,
  write,
  onProgress,
}: ExportPersonOptions): Promise<Exported> {
  const clientOf = (service: string) =>
    createInternalClient({ baseUrls: services[service] ?? [], token, timeoutMs: ANSWER_WITHIN_MS })
  const person = named.userName === undefined ? await withUserName(named, clientOf('user-projector')) : named
  const names = consumers.map(({ name }) => name)
  const sources = [...names, 'gateway', topics.userEvents, topics.formEvents]
  const writer = createPersonWriter({ person, sources, exportedAt: new Date().toISOString(), write })
  for (const name of names) await writeConsumer(name, createCallClient(consumerCalls, clientOf(name)), person, writer)
  await writeRefusals(createCallClient(gatewayCalls, clientOf('gateway')), person, writer)
  for (const topic of [topics.userEvents, topics.formEvents])
    await writeRecords({ connection, topic, userId: person.userId, writer, onProgress })
  if (writer.lineCount() === 0 && writer.missing().length === 0) return { outcome: 'unknown' }
  await writer.end()
  return { outcome: 'written', lines: writer.lineCount(), missing: writer.missing() }
}

async function withUserName(person: Person, send: Send): Promise<Person> {
  const { organization, project, userId } = person
  const asked = await createCallClient(userProjectorCalls, send).readUserNames({
    organization,
    project,
    userIds: [userId],
  })
  const [userName] = asked.outcome === 'answered' ? asked.answer.userNames : []
  return { ...person, userName: userName ?? undefined }
}

/** Services that the export asks. */
export const ASKED_SERVICES = Object.keys(CALLS) as (keyof typeof CALLS)[]
