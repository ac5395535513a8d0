import { type OperationId, ROUTES, type RouteSignature, Uuid } from '@nextvisit/contracts'
import { z } from 'zod'
import {
  createDocument,
  type oas32,
  type ZodOpenApiOperationObject,
  type ZodOpenApiParameters,
  type ZodOpenApiPathItemObject,
  type ZodOpenApiSecuritySchemeObject,
} from 'zod-openapi'
import { headerRefs, type ParameterName, PARAMETERS, SCHEMAS, tidySchema } from './components.ts'
import { type Content, type OperationName, readContent } from './operations.ts'
import { createWebhooks } from './webhooks.ts'
import { RATE_LIMIT_HEADERS, refusalResponses, sharedRefusals, takesMany } from './responses.ts'

const READ_METHODS = ['GET', 'HEAD']
/** Operations whose `after` is an id. */
const LISTED_BY_ID: readonly OperationName[] = ['listSegmentUsers', 'listRefusals', 'listErasures']

/**
 * Creates the OpenAPI document from the route table, the contracts' schemas, the refusals, and the texts and examples
 * in operations.yaml. @throws ContentError
 */
export function createOpenApiDocument(): oas32.OpenAPIObject {
  const content = readContent()
  const { introduction, tags, headers, keys } = content
  const routes = Object.entries(ROUTES) as [OperationId, RouteSignature][]
  return createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Nextvisit',
        version: '2.0.0',
        description: introduction,
        license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'Where this document was found' }],
      tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
      paths: {
        ...Object.fromEntries(
          [...Map.groupBy(routes, ([, { pattern }]) => pattern)].map(([pattern, ofPath]) => [
            pattern,
            keyedPath(content, ofPath),
          ]),
        ),
        '/livez': { get: createOperation(content, 'live') },
        '/readyz': { get: createOperation(content, 'ready') },
        '/openapi.json': { get: createOperation(content, 'openApi') },
        '/docs': { get: createOperation(content, 'docs') },
      },
      webhooks: createWebhooks(content.webhooks),
      components: {
        schemas: SCHEMAS,
        headers,
        securitySchemes: {
          AdminKey: apiKey(keys.AdminKey),
          SdkKey: apiKey(keys.SdkKey),
          WriteKey: { type: 'http', scheme: 'basic', description: keys.WriteKey },
        },
      },
    },
    { override: tidySchema },
  )
}

let text: string | undefined

/** Returns the cached text of the document, as served and as committed to docs/reference/openapi.json. */
export function openApiText(): string {
  text ??= `${JSON.stringify(createOpenApiDocument(), null, 2)}\n`
  return text
}

/** `routes`: all routes of one path. */
function keyedPath(
  content: Content,
  routes: readonly (readonly [OperationId, RouteSignature])[],
): ZodOpenApiPathItemObject {
  const methods = routes.flatMap(([, { method, keyKind }]) => [
    ...(method === 'GET' ? READ_METHODS : [method]),
    ...(keyKind === 'sdk' ? ['OPTIONS'] : []),
  ])
  return Object.fromEntries(
    routes.flatMap(([id, route]) => {
      const operation = [route.method.toLowerCase(), createOperation(content, id, methods, route)] as const
      if (route.keyKind !== 'sdk') return [operation]
      const preflight = { ...createOperation(content, 'preflight', methods), operationId: `${id}Preflight` }
      return [operation, ['options', preflight] as const]
    }),
  )
}

/** `methods`: all methods of the path. Operations without a `route` need no key. */
function createOperation(
  content: Content,
  name: OperationName,
  methods: readonly string[] = READ_METHODS,
  route?: RouteSignature,
): ZodOpenApiOperationObject {
  const { tag, summary, description, parameters, body, answer, refusals } = content.operations[name]
  const answerContent = answer.body ?? answer.content
  return {
    operationId: name,
    tags: [tag],
    summary,
    description: [description, ...otherPathsOf(route)].join('\n\n'),
    security: route ? schemesOf(route).map((scheme) => ({ [scheme]: [] })) : [],
    ...(parameters && { requestParams: parametersOf(content, name, route?.pattern ?? '') }),
    ...(body && { requestBody: { required: true, content: body } }),
    responses: {
      [answer.status]: {
        description: answer.description,
        headers: headerRefs([...answerHeaders(route), ...answer.headers]),
        ...(answerContent && { content: answerContent }),
      },
      ...refusalResponses({ ...sharedRefusals(methods, route), ...refusals }, content.statuses, route !== undefined),
    },
  }
}

function otherPathsOf(route: RouteSignature | undefined): readonly string[] {
  const paths = route?.aliases?.map((path) => `\`${path}\``) ?? []
  return paths.length === 0 ? [] : [`Some libraries use ${paths.join(' or ')}, which is the same route.`]
}

function schemesOf({ keyKind, keyIn }: RouteSignature): readonly string[] {
  if (keyKind === 'sdk') return ['SdkKey']
  return keyIn ? ['WriteKey', 'AdminKey'] : ['AdminKey']
}

function answerHeaders(route: RouteSignature | undefined): readonly string[] {
  if (!route) return []
  // The answer to a batch is never a repeat as a whole.
  const mayRepeat = route.method === 'POST' && !takesMany(route) && !route.isCommand
  return mayRepeat ? [...RATE_LIMIT_HEADERS, 'Idempotent-Replayed'] : RATE_LIMIT_HEADERS
}

/** Returns the parameters of an operation. Those that its pattern names are in the path. */
function parametersOf(content: Content, name: OperationName, pattern: string): ZodOpenApiParameters {
  const examples = Object.entries(content.operations[name].parameters ?? {}) as [ParameterName, string | number][]
  const placed = examples.map(([parameter, example]) => {
    const place = pattern.includes(`{${parameter}}`) ? 'path' : parameter === 'Idempotency-Key' ? 'header' : 'query'
    const isId = parameter === 'after' && LISTED_BY_ID.includes(name)
    const schema = isId ? Uuid.optional() : PARAMETERS[parameter]
    const described = schema.meta({ param: { description: content.parameters[parameter], example } })
    return { place, parameter, described } as const
  })
  return Object.fromEntries(
    [...Map.groupBy(placed, ({ place }) => place)].map(([place, group]) => [
      place,
      z.object(Object.fromEntries(group.map(({ parameter, described }) => [parameter, described]))),
    ]),
  )
}

function apiKey(description: string): ZodOpenApiSecuritySchemeObject {
  return { type: 'apiKey', in: 'header', name: 'X-Api-Key', description }
}
