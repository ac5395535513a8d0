import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { TOPICS } from '@nextvisit/contracts'
import { createApiKey } from '@nextvisit/domain'
import { keyRingConfig, readConfig } from '@nextvisit/service-kit'
import { Command } from 'commander'
import { z } from 'zod'
import { changeAuthor, NotRecordedError } from '../changes/record-change.ts'
import { logConnection, operatingUser, readEnvironment } from '../environment/config.ts'
import { printDemo } from '../print-demo.ts'
import { CliError } from '../errors.ts'
import { print } from '../output/print.ts'
import { applyWorkspace } from '../workspace/apply-workspace.ts'
import { parseWorkspaceFile } from '../workspace/parse-workspace-file.ts'
import { reportStartChanges } from '../workspace/report-start-changes.ts'

const DEMO_WORKSPACE = path.resolve(import.meta.dirname, '../../../../infra/demo-workspace.yaml')

interface DemoFlags {
  readonly gateway: string
  readonly keysFile: string
}

const DemoKeys = z.object({ admin: z.string(), sdk: z.string(), testAdmin: z.string(), testSdk: z.string() })
type DemoKeys = z.infer<typeof DemoKeys>

export function createCommand(): Command {
  return new Command('demo')
    .description('Apply the demo workspace with new keys, and print four curl commands to try it.')
    .requiredOption('--gateway <address>', 'the address of the gateway')
    .requiredOption('--keys-file <file>', 'the file for the keys; created if it does not exist')
    .addHelpText(
      'after',
      `
If the organization demo already exists, it is reset to infra/demo-workspace.yaml: the command undoes other changes to it
and lists them. Other organizations are unchanged. Exits with 0 if done, 1 if failed, 2 if the
arguments are invalid.

Example:
  nextvisit demo --gateway http://127.0.0.1:8080 --keys-file demo-keys.json`,
    )
    .action((flags: DemoFlags) => demo(flags))
}

/** Runs the command. Specs pass their own `topic`. */
export async function demo({ gateway, keysFile }: DemoFlags, topic: string = TOPICS.catalog): Promise<void> {
  const env = readEnvironment()
  const keys = await readOrMakeKeys(keysFile)
  const text = await readFile(DEMO_WORKSPACE, 'utf8')
  const parsed = parseWorkspaceFile(text, {
    ...env,
    DEMO_ADMIN_KEY: keys.admin,
    DEMO_SDK_KEY: keys.sdk,
    DEMO_TEST_ADMIN_KEY: keys.testAdmin,
    DEMO_TEST_SDK_KEY: keys.testSdk,
  })
  if (parsed.outcome !== 'ok') throw new CliError(`${DEMO_WORKSPACE} is invalid; nextvisit apply lists its errors.`)
  const applied = await applyWorkspace({
    connection: logConnection(env),
    organizations: parsed.organizations,
    contents: parsed.contents,
    appliedBy: operatingUser(),
    author: changeAuthor(env),
    file: DEMO_WORKSPACE,
    ...readConfig(keyRingConfig, env),
    topic,
  })
  if (applied.outcome === 'not-recorded') throw new NotRecordedError()
  if (applied.outcome === 'refused') throw new CliError(applied.reason)
  if (applied.outcome === 'not-applied')
    throw new CliError('Another process applied a workspace at the same moment. Try again.')
  reportStartChanges(applied, print)
  printDemo({ gatewayUrl: gateway, organizations: parsed.organizations, keys })
}

async function readOrMakeKeys(file: string): Promise<DemoKeys> {
  try {
    return DemoKeys.parse(JSON.parse(await readFile(file, 'utf8')))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw new CliError(`${file} does not contain the demo's keys. Remove it to create new ones.`, undefined, {
        cause: error,
      })
    }
  }
  const keys: DemoKeys = {
    admin: createApiKey('admin', 'P', randomBytes(32)),
    sdk: createApiKey('sdk', 'P', randomBytes(32)),
    testAdmin: createApiKey('admin', 'T', randomBytes(32)),
    testSdk: createApiKey('sdk', 'T', randomBytes(32)),
  }
  await writeFile(file, `${JSON.stringify(keys, null, 2)}\n`, { mode: 0o600 })
  return keys
}
