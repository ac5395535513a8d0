import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { OrganizationConfig, WorkspaceFault } from '@nextvisit/contracts'
import { ignoredStack, noLocalStack, readEnvironment } from '../environment/config.ts'
import { InvalidWorkspace } from '../errors.ts'
import { fileError } from '../file-error.ts'
import { complain } from '../output/print.ts'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { parseWorkspaceFile, type Workspace } from './parse-workspace-file.ts'

const STANDARD_INPUT = '-'

/** Reads a workspace file and the secrets that it names. Prints the faults of an invalid file and throws. */
export async function readWorkspace(file: string): Promise<Workspace> {
  const env = readEnvironment()
  return parse(file, env, () => {
    const hint = ignoredStack(env)
    if (hint !== undefined) complain(hint)
    else if (env['KAFKA_BROKERS'] === undefined) {
      complain(`The demo keys are missing, because ${noLocalStack(env)}: npx -y pnpm start`)
    }
  })
}

/** Reads a workspace file without keys and signing secrets, and without the environment, for simulations. */
export async function readWorkspaceWithoutSecrets(file: string): Promise<readonly OrganizationConfig[]> {
  return (await parse(file, undefined, () => {})).organizations
}

async function parse(file: string, env: EnvironmentVariables | undefined, onInvalid: () => void): Promise<Workspace> {
  const isInput = file === STANDARD_INPUT
  const name = isInput ? 'standard input' : file
  const content = await (isInput ? text(process.stdin) : readFile(file, 'utf8')).catch((cause: unknown) => {
    throw fileError(name, 'read', cause)
  })
  const parsed = parseWorkspaceFile(content, env)
  if (parsed.outcome === 'ok') return parsed
  for (const fault of parsed.faults) complain(faultLine(name, fault))
  onInvalid()
  throw new InvalidWorkspace(name, parsed.faults)
}

function faultLine(file: string, { line, path, message }: WorkspaceFault): string {
  return `${file}:${line}: ${path === '' ? '' : `${path}  `}${message}`
}
