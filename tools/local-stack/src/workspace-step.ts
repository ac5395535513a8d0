import { readFile } from 'node:fs/promises'
import { applyWorkspace, parseWorkspaceFile, reportStartChanges, type Workspace } from '@nextvisit/cli/workspace'
import { TOPICS } from '@nextvisit/contracts'
import type { LogConnection } from '@nextvisit/log'
import { parseKeyRing } from '@nextvisit/sealing'
import { inheritedEnvironment } from './config.ts'
import { StackError } from './errors.ts'
import type { StackSecrets } from './stack-secrets.ts'

/** Reads the workspace file. Throws BROKEN_WORKSPACE with every fault and its line. */
export async function readWorkspace(file: string, secrets: StackSecrets): Promise<Workspace> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new StackError(
      'BROKEN_WORKSPACE',
      `The workspace file ${file} cannot be read (${cause.code}). Set NEXTVISIT_WORKSPACE to a readable file, or unset it for the demo.`,
      { cause },
    )
  })
  const parsed = parseWorkspaceFile(text, {
    ...inheritedEnvironment(),
    DEMO_ADMIN_KEY: secrets.adminKey,
    DEMO_SDK_KEY: secrets.sdkKey,
    DEMO_TEST_ADMIN_KEY: secrets.testAdminKey,
    DEMO_TEST_SDK_KEY: secrets.testSdkKey,
    NEXTVISIT_SECRET_KEY: secrets.secretKey,
  })
  if (parsed.outcome === 'ok') return parsed
  const faults = parsed.faults.map(({ line, path, message }) => `\n  ${file}:${line}  ${path}  ${message}`)
  throw new StackError('BROKEN_WORKSPACE', `The workspace file is invalid; fix it and start again:${faults.join('')}`)
}

interface ApplyStep {
  readonly connection: LogConnection
  readonly workspace: Workspace
  /** Value of NEXTVISIT_SECRET_KEY. */
  readonly secretKey: string
  readonly report: (line: string) => void
  /** Topic of the catalog; specs use their own. */
  readonly topic?: string
}

/** Applies the file to the catalog, and reports the changes. */
export async function applyToCatalog({
  connection,
  workspace: { organizations, contents },
  secretKey,
  report,
  topic = TOPICS.catalog,
}: ApplyStep): Promise<void> {
  const parsed = parseKeyRing(secretKey)
  if (parsed.outcome === 'invalid')
    throw new StackError(
      'INVALID_SETTING',
      `secretKey in secrets.json of the data folder is invalid: ${parsed.reason}.`,
    )
  const keyRing = parsed.ring
  const applied = await applyWorkspace({ connection, organizations, contents, appliedBy: 'pnpm start', keyRing, topic })
  if (applied.outcome === 'not-recorded')
    throw new StackError('STEP_FAILED', 'The change cannot be written to the topic operator-changes. Start again.')
  if (applied.outcome === 'refused') throw new StackError('BROKEN_WORKSPACE', applied.reason)
  if (applied.outcome === 'not-applied') {
    throw new StackError('STEP_FAILED', 'Another process applied a workspace file at the same moment. Start again.')
  }
  reportStartChanges(applied, report)
}
