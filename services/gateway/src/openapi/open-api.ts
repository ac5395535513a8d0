import type { z } from 'zod'

/** The part of OpenAPI 3.1 that our document uses. */
export interface OpenApiDocument {
  readonly openapi: '3.1.1'
  readonly info: { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string; readonly description: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: Components
}

export type Method = 'get' | 'post' | 'options'
export type PathItem = { readonly [M in Method]?: OperationObject }
export type JsonSchema = z.core.JSONSchema.BaseSchema

export interface Components {
  readonly schemas: Readonly<Record<string, JsonSchema>>
  readonly headers: Readonly<Record<string, HeaderObject>>
  readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
}

export interface Reference {
  readonly $ref: string
}

export interface SecurityScheme {
  readonly type: 'apiKey'
  readonly in: 'header'
  readonly name: string
  readonly description: string
}

export interface OperationObject {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  /** Empty: no key. */
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly ParameterObject[]
  readonly requestBody?: { readonly required: true; readonly content: Content }
  readonly responses: Responses
}

export interface ParameterObject {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description: string
  readonly schema: JsonSchema
  readonly example?: string | number
}

export interface HeaderObject {
  readonly description: string
  readonly required: boolean
  readonly schema: JsonSchema
  readonly example: string | number
}

/** By status. */
export type Responses = Readonly<Record<string, ResponseObject>>

export interface ResponseObject {
  readonly description: string
  readonly headers: Readonly<Record<string, Reference>>
  readonly content?: Content
}

/** By media type. */
export type Content = Readonly<Record<string, MediaType>>

export interface MediaType {
  readonly schema: JsonSchema | Reference
  readonly examples?: Readonly<Record<string, ExampleObject>>
}

export interface ExampleObject {
  readonly summary: string
  readonly value: unknown
}
