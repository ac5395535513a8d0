import type { ParameterObject } from './open-api.ts'
import type { SchemaName } from './schemas.ts'

export const TAGS = {
  Users: 'Say who a user is, and read what is known of them. Admin keys, from servers only.',
  Events: 'Record what a user did. Admin keys, from servers only.',
  SDK: 'For pages and apps, with a publishable key, from any origin (CORS).',
  Project: "A project's registries, segments and counters. Admin keys, from servers only.",
  Health: 'For load balancers, and for people. No key.',
} as const
export type Tag = keyof typeof TAGS

/** What the document says of an operation that its row in the route table does not. */
export interface Operation {
  readonly tag: Tag
  readonly summary: string
  /** Markdown: paragraphs, lists, `code` and **bold**. */
  readonly description: string
  readonly parameters?: readonly ParameterObject[]
  readonly body?: DocumentedBody
  readonly answers: readonly DocumentedAnswer[]
  /** Its own. What every route refuses, or every body, is added. */
  readonly refusals: readonly DocumentedRefusal[]
}

export interface DocumentedBody {
  readonly schema: SchemaName
  readonly examples: Readonly<Record<string, { readonly when: string; readonly value: unknown }>>
}

export interface DocumentedAnswer extends DocumentedBody {
  readonly status: number
  readonly description: string
}

/** A refusal as a caller sees it. */
export interface DocumentedRefusal {
  readonly status: number
  /** Names the example. */
  readonly name: string
  readonly when: string
  /** Word for word; where it names a member, as it is for one such member. */
  readonly message: string
}
