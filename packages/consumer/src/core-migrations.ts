import { fileURLToPath } from 'node:url'

/** Folder of the core's migrations. They run in the schema of each consumer, before its own. */
export const coreMigrations = fileURLToPath(new URL('../prisma/migrations', import.meta.url))
