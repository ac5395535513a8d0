import path from 'node:path'

/**
 * Returns the environment for Prisma's CLI. The CLI downloads its schema engine before any command and looks for updates,
 * neither of which `generate` needs. Its generators run with this version of Node.
 */
export function generatorEnvironment(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    PATH: [path.dirname(process.execPath), process.env['PATH']].join(path.delimiter),
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
    CHECKPOINT_DISABLE: '1',
  }
}
