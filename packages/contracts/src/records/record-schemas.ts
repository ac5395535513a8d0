import { z } from 'zod'
import { OrganizationConfigured } from '../workspace/organization-config.ts'
import { FormCancelled, FormDelivered, FormExpired, FormFact, FormQueued } from './form-facts.ts'
import { SCHEMA_VERSIONS } from './record-codec.ts'
import { type Topic, TOPICS } from './topics.ts'
import { EventTracked, IdentifyRequested, UserFact, VisitAnswered } from './user-facts.ts'

export interface RecordType {
  readonly type: string
  readonly description: string
  readonly schema: z.ZodType
  readonly topic: Topic
  /** The schema that the topic's consumers parse with. */
  readonly topicSchema: z.ZodType
}

const user = { topic: TOPICS.userEvents, topicSchema: UserFact }
const form = { topic: TOPICS.formEvents, topicSchema: FormFact }
const catalog = { topic: TOPICS.catalog, topicSchema: OrganizationConfigured }

/** Every type of record. */
export const RECORD_TYPES: readonly RecordType[] = [
  {
    ...user,
    type: 'IdentifyRequested',
    description: 'A user said who they are: admitted trait operations and device facts. From an SDK key it is a visit.',
    schema: IdentifyRequested,
  },
  { ...user, type: 'EventTracked', description: 'One thing that happened to a user.', schema: EventTracked },
  {
    ...user,
    type: 'VisitAnswered',
    description: 'The gateway has answered a visit with a form.',
    schema: VisitAnswered,
  },
  { ...form, type: 'FormQueued', description: "A form waits for the user's next visit.", schema: FormQueued },
  { ...form, type: 'FormDelivered', description: 'The form was shown.', schema: FormDelivered },
  {
    ...form,
    type: 'FormCancelled',
    description: 'The form was removed or disabled in the workspace while it waited.',
    schema: FormCancelled,
  },
  { ...form, type: 'FormExpired', description: 'The form waited too long.', schema: FormExpired },
  {
    ...catalog,
    type: 'OrganizationConfigured',
    description: 'A revision of an organization: plan, projects, keys, segments, forms.',
    schema: OrganizationConfigured,
  },
]

/** The text of `docs/reference/records/<type>.schema.json`. The schema allows unknown members, because readers ignore them. */
export function recordSchemaText({ type, description, schema }: RecordType): string {
  const { $schema, ...members } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io: 'input',
    unrepresentable: 'any',
  })
  const head = { $schema, title: type, description, 'x-schema-version': SCHEMA_VERSIONS[type] }
  return `${JSON.stringify({ ...head, ...members }, null, 2)}\n`
}
