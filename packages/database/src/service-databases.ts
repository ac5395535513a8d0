import { createHmac } from 'node:crypto'
import path from 'node:path'
import { prepareServiceSchema, type ServiceSchemaOptions } from './prepare-service-schema.ts'

/** Which service keeps its rows where, as which role, and which variable may give it a server of its own. */
export const serviceDatabases = [
  {
    service: 'user-projector',
    schema: 'users',
    role: 'nextvisit_users',
    environmentVariable: 'USER_PROJECTOR_DATABASE_URL',
  },
  {
    service: 'trait-registry',
    schema: 'registry',
    role: 'nextvisit_registry',
    environmentVariable: 'TRAIT_REGISTRY_DATABASE_URL',
  },
  {
    service: 'metering',
    schema: 'metering',
    role: 'nextvisit_metering',
    environmentVariable: 'METERING_DATABASE_URL',
  },
  {
    service: 'form-trigger-evaluator',
    schema: 'forms',
    role: 'nextvisit_forms',
    environmentVariable: 'FORM_TRIGGER_EVALUATOR_DATABASE_URL',
  },
] as const
export type ServiceDatabase = (typeof serviceDatabases)[number]

export interface AllSchemasOptions {
  /** See {@link prepareServiceSchema}. */
  readonly adminUrl: string
  /** The same for services that have a server of their own, by their variable. */
  readonly ownAdminUrls?: ReadonlyMap<string, string>
  /** What the roles' passwords are derived from. Whoever shares the server has to share it: roles are shared too. */
  readonly passwordSecret: string
  /** `coreMigrations` of `@nextvisit/projection`; applied before a service's own. */
  readonly coreMigrations: string
  /** The folder that holds `<service>/prisma/migrations`. */
  readonly servicesDirectory: string
}

/** Prepares every service's schema; returns each service's own database address, by the variable that carries it. */
export async function prepareAllSchemas(options: AllSchemasOptions): Promise<ReadonlyMap<string, string>> {
  const { passwordSecret, coreMigrations, servicesDirectory } = options
  const urls = new Map<string, string>()
  for (const { service, schema, role, environmentVariable } of serviceDatabases) {
    const adminUrl = options.ownAdminUrls?.get(environmentVariable) ?? options.adminUrl
    const password = rolePassword(passwordSecret, role)
    const migrations = serviceMigrations(service, coreMigrations, servicesDirectory)
    await prepareServiceSchema({ adminUrl, schema, role, password, migrations })
    urls.set(environmentVariable, withCredentials(adminUrl, role, password))
  }
  return urls
}

/** The core's migrations and then the service's own, each with its table of what was applied. */
export function serviceMigrations(
  service: string,
  coreMigrations: string,
  servicesDirectory: string,
): ServiceSchemaOptions['migrations'] {
  return [
    { directory: coreMigrations, table: '_core_migrations' },
    { directory: path.join(servicesDirectory, service, 'prisma/migrations'), table: '_prisma_migrations' },
  ]
}

/** The password of a service's role, where nobody chose one. */
export function rolePassword(secret: string, role: string): string {
  return createHmac('sha256', secret).update(role).digest('base64url')
}

function withCredentials(url: string, role: string, password: string): string {
  const own = new URL(url)
  own.username = role
  own.password = password
  return own.href
}
