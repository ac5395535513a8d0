export * from './sql.ts'
export * from './service-prisma-config.ts'
