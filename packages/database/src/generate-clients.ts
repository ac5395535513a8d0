/**
 * `pnpm generate`: makes the Prisma client, and `generated/tables.ts`, of every service and package that has a
 * `prisma/schema.prisma`, where it changed.
 *
 * Every schema begins with these blocks; no more is needed for code that Node runs as it stands:
 *
 *     generator client {
 *       provider = "prisma-client"
 *       output   = "../generated/prisma"
 *     }
 *
 *     datasource db {
 *       provider = "postgresql"
 *     }
 *
 * and its code says `import { PrismaClient } from '../generated/prisma/client.ts'`, and for a table of the model `User`
 * `defineTable(...User)`.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { promisify } from 'node:util'
import { generatorEnvironment } from './config.ts'
import { describeTables } from './describe-tables.ts'

const PARALLEL = 2
const root = path.resolve(import.meta.dirname, '../../..')
const prismaPackage = createRequire(path.join(root, 'package.json')).resolve('prisma/package.json')
const prismaCli = path.join(path.dirname(prismaPackage), 'build/index.js')

/** What the generated client depends on: the schema and the Prisma that reads it. */
async function fingerprint(schema: string): Promise<string> {
  const hash = createHash('sha256')
  for (const part of [schema, await readFile(prismaPackage)]) hash.update(part)
  return hash.digest('hex')
}

/** Committed: the list of consumers reads it, also where nothing was generated yet. */
async function writeTables(generated: string, schema: string): Promise<void> {
  const file = path.join(generated, 'tables.ts')
  const wanted = describeTables(schema)
  await mkdir(generated, { recursive: true })
  if (!existsSync(file) || (await readFile(file, 'utf8')) !== wanted) await writeFile(file, wanted)
}

/** `owner`: the folder of a service or a package, from the root. */
async function generateClient(owner: string): Promise<void> {
  const directory = path.join(root, owner)
  const generated = path.join(directory, 'generated')
  const stamp = path.join(generated, 'prisma.sha256')
  const schema = await readFile(path.join(directory, 'prisma/schema.prisma'), 'utf8')
  await writeTables(generated, schema)
  const wanted = await fingerprint(schema)
  const isCurrent = existsSync(stamp) && (await readFile(stamp, 'utf8')) === wanted
  if (isCurrent && existsSync(path.join(generated, 'prisma/client.ts')))
    return report(owner, 'Prisma client is current')
  await rm(stamp, { force: true })
  await promisify(execFile)(process.execPath, [prismaCli, 'generate', '--no-hints'], {
    cwd: directory,
    env: generatorEnvironment(),
  })
  await writeFile(stamp, wanted)
  report(owner, 'Prisma client generated')
}

function report(owner: string, what: string): void {
  console.log(`${owner}: ${what}`)
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
        await generateClient(owner)
      } catch (error) {
        isComplete = false
        console.error(`${owner}: could not generate its Prisma client; see prisma/schema.prisma.\n${reasonOf(error)}`)
      }
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, work))
  return isComplete
}

if (!(await generateAll())) process.exitCode = 1
