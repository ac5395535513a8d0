import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type OperationId, ROUTES, WebhookType } from '@nextvisit/contracts'
import { parse } from 'yaml'
import { z } from 'zod'
import { json, PARAMETERS, SCHEMAS } from './components.ts'
import { REFUSALS_BY_NAME } from './responses.ts'

const FILE = path.join(import.meta.dirname, 'operations.yaml')

/** Names of operations: the routes of the route table, and those that need no key. */
const OperationName = z.enum([
  ...(Object.keys(ROUTES) as OperationId[]),
  ...(['preflight', 'live', 'ready', 'openApi', 'docs'] as const),
])
export type OperationName = z.infer<typeof OperationName>

const ParameterName = z.object(PARAMETERS).keyof()

/** Markdown. Lines of one paragraph or list item are joined. */
const Text = z.string().transform((text) => text.trim().replaceAll(/(?<!\n)\n(?!\n|- ) */g, ' '))

/** One text, or a list of paragraphs. */
const Texts = z.preprocess((texts) => [texts].flat(), z.array(Text)).transform((texts) => texts.join('\n\n'))

/** A body. Its schema is named as in the contracts. */
const Body = z
  .strictObject({
    schema: z.enum(Object.keys(SCHEMAS)).transform((name) => SCHEMAS[name] ?? z.never()),
    examples: z.record(z.string(), z.strictObject({ summary: z.string(), value: z.unknown() })),
  })
  .transform(({ schema, examples }) => json(schema, examples))

const Answer = z.strictObject({
  status: z.int(),
  description: Text,
  headers: z.array(z.string()).default([]),
  body: Body.optional(),
  /** Plain OpenAPI in place of `body`, for answers without a schema in the contracts. */
  content: z.record(z.string(), z.strictObject({ schema: z.record(z.string(), z.string()) })).optional(),
})

/** A rule by its name, or a rule with the changes of this example. Becomes the name of the example and the rule. */
const NamedRefusal = z.preprocess(
  (entry) => (typeof entry === 'string' ? { rule: entry } : entry),
  z
    .strictObject({
      rule: z.string(),
      name: z.string().optional(),
      member: z.string().optional(),
      when: z.string().optional(),
    })
    .transform(({ rule: ruleName, name = ruleName, member, when }, context) => {
      const rule = REFUSALS_BY_NAME.get(ruleName)
      const found = typeof rule === 'function' && member !== undefined ? rule(member) : rule
      if (typeof found === 'object') return [name, { ...found, when: when ?? found.when }] as const
      context.addIssue(rule ? `The refusal "${ruleName}" needs a member` : `There is no refusal "${ruleName}"`)
      return z.NEVER
    }),
)

const Operation = z.strictObject({
  tag: z.string(),
  summary: z.string(),
  description: Texts,
  /** Examples, by parameter. */
  parameters: z.partialRecord(ParameterName, z.union([z.string(), z.number()])).optional(),
  body: Body.optional(),
  answer: Answer,
  /** Nested lists are flattened. */
  refusals: z
    .preprocess((entries) => (Array.isArray(entries) ? entries.flat() : entries), z.array(NamedRefusal))
    .transform((entries) => Object.fromEntries(entries))
    .default({}),
})

const Header = z.strictObject({
  description: Text,
  required: z.boolean().exactOptional(),
  schema: z.record(z.string(), z.unknown()),
  example: z.union([z.string(), z.number()]),
})

/** Contents of operations.yaml: an operation for each route, a text for each name. */
const Content = z.strictObject({
  introduction: Text,
  tags: z.record(z.string(), Text),
  operations: z.record(OperationName, Operation),
  /** Requests to endpoints: texts by name, and the `data` of an example by type. */
  webhooks: z.strictObject({
    description: Texts,
    headers: z.record(z.string(), z.strictObject({ description: Text, example: z.string() })),
    answers: z.record(z.string(), Text),
    data: z.record(WebhookType, z.record(z.string(), z.unknown())),
  }),
  parameters: z.record(ParameterName, Text),
  headers: z.record(z.string(), Header),
  statuses: z.record(z.string(), Text),
  keys: z.record(z.enum(['AdminKey', 'SdkKey', 'WriteKey']), Text),
})
export type Content = z.infer<typeof Content>

/** Thrown for an invalid operations.yaml. The message lists every invalid place. */
export class ContentError extends Error {
  override readonly name = 'ContentError'
  readonly code = 'BAD_OPENAPI_CONTENT'
  readonly retryable = false
}

/** Parses operations.yaml. @throws ContentError; YAMLParseError, with the line, for invalid YAML */
export function parseContent(yaml: string): Content {
  const result = Content.safeParse(parse(yaml))
  if (!result.success) throw new ContentError(`operations.yaml is invalid:\n${z.prettifyError(result.error)}`)
  return result.data
}

/** Reads the texts and examples of the document. @throws ContentError */
export function readContent(): Content {
  return parseContent(readFileSync(FILE, 'utf8'))
}
