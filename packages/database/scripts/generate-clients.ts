/**
 * `pnpm generate`: runs Prisma's generators for every service and package that has a `prisma/schema.prisma`, if it changed.
 * They write the Prisma client and `generated/tables.ts`. Every schema begins with these blocks:
 *
 *     generator client {
 *       provider = "prisma-client"
 *       output   = "../generated/prisma"
 *     }
 *
 *     generator tables {
 *       provider = "node ../../packages/database/scripts/tables-generator.ts"
 *       output   = "../generated/tables.ts"
 *     }
 *
 *     datasource db {
 *       provider = "postgresql"
 *     }
 *
 * Code then imports `PrismaClient` from `../generated/prisma/client.ts`, and defines the table of the model `User` with
 * `defineTable(...User)`.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { promisify } from 'node:util'
import { generatorEnvironment } from './config.ts'

const PARALLEL = 2
const root = path.resolve(import.meta.dirname, '../../..')
const prismaPackage = createRequire(path.join(root, 'package.json')).resolve('prisma/package.json')
const prismaCli = path.join(path.dirname(prismaPackage), 'build/index.js')

const GENERATOR = ['tables-generator.ts', '../src/tables/describe-tables.ts', '../src/tables/column-types.ts'].map(
  (file) => path.join(import.meta.dirname, file),
)

/** Returns the hash of everything that the generated files depend on: the schema, Prisma's version and our generator. */
async function hashOf(schema: string): Promise<string> {
  const hash = createHash('sha256').update(schema)
  for (const file of [prismaPackage, ...GENERATOR]) hash.update(await readFile(file))
  return hash.digest('hex')
}

/** Generates the files of `owner`: the folder of a service or a package, relative to the root. */
async function generate(owner: string): Promise<void> {
  const directory = path.join(root, owner)
  const generated = path.join(directory, 'generated')
  const stamp = path.join(generated, 'prisma.sha256')
  const schema = await readFile(path.join(directory, 'prisma/schema.prisma'), 'utf8')
  const wanted = await hashOf(schema)
  const isComplete = ['prisma/client.ts', 'tables.ts'].every((file) => existsSync(path.join(generated, file)))
  if (isComplete && existsSync(stamp) && (await readFile(stamp, 'utf8')) === wanted)
    return report(owner, 'Prisma client and tables are current')
  await rm(stamp, { force: true })
  await promisify(execFile)(process.execPath, [prismaCli, 'generate', '--no-hints'], {
    cwd: directory,
    env: generatorEnvironment(),
  })
  await writeFile(stamp, wanted)
  report(owner, 'Prisma client and tables generated')
}

function report(owner: string, result: string): void {
  console.log(`${owner}: ${result}`)
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && 'stderr' in error && typeof error.stderr === 'string' && error.stderr.trim()) {
    return error.stderr.trim()
  }
  return String(error)
}

async function findOwners(): Promise<string[]> {
  const owners: string[] = []
  for (const folder of ['packages', 'services']) {
    for (const name of await readdir(path.join(root, folder))) owners.push(path.join(folder, name))
  }
  return owners.filter((owner) => existsSync(path.join(root, owner, 'prisma/schema.prisma')))
}

async function generateAll(): Promise<boolean> {
  const waiting = await findOwners()
  let isComplete = true
  async function work(): Promise<void> {
    for (let owner = waiting.shift(); owner !== undefined; owner = waiting.shift()) {
      try {
        await generate(owner)
      } catch (error) {
        isComplete = false
        console.error(
          `${owner}: could not generate its Prisma client and tables; see prisma/schema.prisma.\n${reasonOf(error)}`,
        )
      }
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, work))
  return isComplete
}

if (!(await generateAll())) process.exitCode = 1
