import type { BodyRule } from '@nextvisit/domain'
import type { z } from 'zod'
import type { ZodOpenApiContentObject, ZodOpenApiExamplesObject, ZodOpenApiParameters } from 'zod-openapi'
import { bodyRuleStatus, type RefusalRule } from '../http/refusals.ts'
import type { HeaderName } from './components.ts'

export const TAGS = {
  Users: 'Say who a user is, and read what is known of them. Admin keys, from servers only.',
  Events: 'Record what a user did. Admin keys, from servers only.',
  SDK: 'For pages and apps, with a publishable key, from any origin (CORS).',
  Project: "A project's registries, segments and counters. Admin keys, from servers only.",
  Health: 'For load balancers, and for people. No key.',
} as const

/** What the document says of an operation that its row in the route table does not. */
export interface Operation {
  readonly tag: keyof typeof TAGS
  readonly summary: string
  /** Markdown: paragraphs, lists, `code` and **bold**. */
  readonly description: string
  readonly requestParams?: ZodOpenApiParameters
  readonly body?: ZodOpenApiContentObject
  readonly answer: DocumentedAnswer
  /** Its own. What every route of its kind refuses is added. */
  readonly refusals: DocumentedRefusals
}

export interface DocumentedAnswer {
  readonly status: number
  readonly description: string
  /** Beside `X-Request-Id`. */
  readonly headers?: readonly HeaderName[]
  readonly content?: ZodOpenApiContentObject
}

/** By the name of its example. */
export type DocumentedRefusals = Readonly<Record<string, RefusalRule>>

export function json(schema: z.ZodType, examples: ZodOpenApiExamplesObject): ZodOpenApiContentObject {
  return { 'application/json': { schema, examples } }
}

/** The body's own rules as the gateway answers them. */
export function refusalsOf(rules: Readonly<Record<string, BodyRule>>): DocumentedRefusals {
  return Object.fromEntries(
    Object.entries(rules).map(([name, rule]) => [name, { status: bodyRuleStatus(rule.reason), ...rule }]),
  )
}
