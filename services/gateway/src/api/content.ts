import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type OperationId, ROUTES } from '@nextvisit/contracts'
import { parse } from 'yaml'
import { z } from 'zod'
import { json, PARAMETERS, SCHEMAS } from './components.ts'
import { REFUSALS_BY_NAME } from './responses.ts'

const FILE = path.join(import.meta.dirname, 'operations.yaml')

/** The rows of the route table, and what needs no key. */
const OperationName = z.enum([
  ...(Object.keys(ROUTES) as OperationId[]),
  ...(['preflight', 'live', 'ready', 'openApi', 'docs'] as const),
])
export type OperationName = z.infer<typeof OperationName>

const ParameterName = z.object(PARAMETERS).keyof()

/** Markdown. The lines of one paragraph, or of one item of a list, are joined. */
const Text = z.string().transform((text) => text.trim().replaceAll(/(?<!\n)\n(?!\n|- ) */g, ' '))

/** One text, or a list of texts that each start a paragraph. */
const Texts = z.preprocess((texts) => [texts].flat(), z.array(Text)).transform((texts) => texts.join('\n\n'))

/** A body as OpenAPI describes it. Its schema is one of the contracts', by name. */
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
  /** In place of `body` where the contracts have no schema: plain OpenAPI. */
  content: z.record(z.string(), z.strictObject({ schema: z.record(z.string(), z.string()) })).optional(),
})

/** The name of a rule, or a rule and what differs in this example. Becomes the example's name and the rule. */
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
  /** An example of each. */
  parameters: z.partialRecord(ParameterName, z.union([z.string(), z.number()])).optional(),
  body: Body.optional(),
  answer: Answer,
  /** A list in the list stands for its entries. */
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

/** Everything that operations.yaml must hold: an operation for each row of the route table, a text for each name. */
const Content = z.strictObject({
  introduction: Text,
  tags: z.record(z.string(), Text),
  operations: z.record(OperationName, Operation),
  parameters: z.record(ParameterName, Text),
  headers: z.record(z.string(), Header),
  statuses: z.record(z.string(), Text),
  keys: z.record(z.enum(['AdminKey', 'SdkKey', 'WriteKey']), Text),
})
export type Content = z.infer<typeof Content>

/** operations.yaml is not as the document needs it. The message lists every place that is wrong. */
export class ContentError extends Error {
  override readonly name = 'ContentError'
  readonly code = 'BAD_OPENAPI_CONTENT'
  readonly retryable = false
}

/** @throws ContentError; YAMLParseError, which names the line, where it is no YAML */
export function parseContent(yaml: string): Content {
  const result = Content.safeParse(parse(yaml))
  if (!result.success) throw new ContentError(`operations.yaml is wrong:\n${z.prettifyError(result.error)}`)
  return result.data
}

/** The texts and examples of the document. @throws ContentError */
export function readContent(): Content {
  return parseContent(readFileSync(FILE, 'utf8'))
}
