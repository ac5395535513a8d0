import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import type { OrganizationConfig } from '@nextvisit/contracts'
import { knowsNoLog, leftOut, readEnvironment } from '../config.ts'
import { CliError, EXIT } from '../errors.ts'
import { fileError } from '../file-error.ts'
import { complain } from '../output.ts'
import type { EnvironmentVariables } from '@nextvisit/service-kit'
import { parseWorkspaceFile } from './parse-workspace-file.ts'
import type { Fault } from './read-yaml.ts'

/** A workspace file is invalid. Each fault was printed. */
export class InvalidWorkspace extends CliError {
  override readonly name = 'InvalidWorkspace'
  override readonly code = 'INVALID_WORKSPACE'
  readonly faults: readonly Fault[]

  constructor(file: string, faults: readonly Fault[]) {
    super(
      `${file} has ${faults.length === 1 ? 'one fault' : `${faults.length} faults`}. Nothing was changed.`,
      EXIT.usage,
    )
    this.faults = faults
  }
}

const STANDARD_INPUT = '-'

/** Reads a workspace file's organizations, with the secrets that it names. If it is invalid, prints each error with its line and throws. */
export async function readWorkspace(file: string): Promise<readonly OrganizationConfig[]> {
  const env = readEnvironment()
  return parse(file, env, () => {
    const hint = leftOut(env)
    if (hint !== undefined) complain(hint)
    else if (knowsNoLog(env))
      complain('No local stack runs here that could provide the keys of the demo: npx -y pnpm start')
  })
}

/** The same without keys and signing secrets: the environment is not read. For a file that is only tried. */
export async function readWorkspaceWithoutSecrets(file: string): Promise<readonly OrganizationConfig[]> {
  return parse(file, undefined, () => {})
}

async function parse(
  file: string,
  env: EnvironmentVariables | undefined,
  onInvalid: () => void,
): Promise<readonly OrganizationConfig[]> {
  const isInput = file === STANDARD_INPUT
  const name = isInput ? 'standard input' : file
  const content = await (isInput ? text(process.stdin) : readFile(file, 'utf8')).catch((cause: unknown) => {
    throw fileError(name, 'read', cause)
  })
  const parsed = parseWorkspaceFile(content, env)
  if (parsed.outcome === 'ok') return parsed.organizations
  for (const fault of parsed.faults) complain(faultLine(name, fault))
  onInvalid()
  throw new InvalidWorkspace(name, parsed.faults)
}

function faultLine(file: string, { line, path, message }: Fault): string {
  return `${file}:${line}: ${path === '' ? '' : `${path}  `}${message}`
}
