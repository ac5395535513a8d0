/** The part of Prisma's configuration that we use; Prisma itself is a tool of development only. */
interface ServicePrismaConfig {
  readonly schema: string
  readonly migrations: { readonly path: string }
  readonly datasource?: { readonly url: string }
}

/**
 * What a service's `prisma.config.ts` exports: `export default servicePrismaConfig('metering', databaseUrl)`.
 * `pnpm generate` needs no database; Prisma's own CLI, where someone has its engines, gets the service's schema of it.
 */
export function servicePrismaConfig(schema: string, databaseUrl?: string): ServicePrismaConfig {
  const config = { schema: 'prisma/schema.prisma', migrations: { path: 'prisma/migrations' } }
  if (!databaseUrl) return config
  const url = new URL(databaseUrl)
  url.searchParams.set('schema', schema)
  return { ...config, datasource: { url: url.href } }
}
