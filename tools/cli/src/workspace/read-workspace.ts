import { readFile } from 'node:fs/promises'
import type { OrganizationConfig } from '@nextvisit/contracts'
import { knowsNoLog, readEnvironment } from '../config.ts'
import { CliError, EXIT } from '../errors.ts'
import { fileError } from '../file-error.ts'
import { complain } from '../output.ts'
import { parseWorkspaceFile } from './parse-workspace-file.ts'
import type { Fault } from './read-yaml.ts'

/** Reads a workspace file's organizations. If it is invalid, prints each error with its line and throws. */
export async function readWorkspace(file: string): Promise<readonly OrganizationConfig[]> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw fileError(file, 'read', cause)
  })
  const env = readEnvironment()
  const parsed = parseWorkspaceFile(text, env)
  if (parsed.outcome === 'ok') return parsed.organizations
  for (const fault of parsed.faults) complain(faultLine(file, fault))
  if (knowsNoLog(env)) complain('No local stack runs here that could provide the keys of the demo: npx -y pnpm start')
  const count = parsed.faults.length === 1 ? 'one fault' : `${parsed.faults.length} faults`
  throw new CliError(`${file} has ${count}. Nothing was changed.`, EXIT.usage)
}

function faultLine(file: string, { line, path, message }: Fault): string {
  return `${file}:${line}: ${path === '' ? '' : `${path}  `}${message}`
}
