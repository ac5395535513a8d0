/** What Prisma's CLI inherits. It fetches its schema engine before any command, and asks for updates: `generate` needs neither. */
export function generatorEnvironment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
    CHECKPOINT_DISABLE: '1',
  }
}
