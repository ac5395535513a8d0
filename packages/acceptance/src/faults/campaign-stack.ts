import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { AuditReport, LedgerEntry, ReadModel } from '@nextvisit/audit'
import { audit } from '@nextvisit/audit'
import { serviceDatabases } from '@nextvisit/database'
import { startThrowAwayStack, type ThrowAwayStack } from '../stack.ts'
import { createCustomers, type Customer } from './customers.ts'

/** A stack of its own with several customers in it. */
export interface CampaignStack extends ThrowAwayStack {
  readonly customers: readonly Customer[]
  /** Of a service's own database, by the service's name. */
  readonly databaseUrl: (service: string) => string
}

export async function startCampaignStack(): Promise<CampaignStack> {
  const { customers, workspaceFile } = createCustomers()
  const folder = await mkdtemp(path.join(tmpdir(), 'nextvisit-test-'))
  const file = path.join(folder, 'workspace.yaml')
  await writeFile(file, workspaceFile)
  const stack = await startThrowAwayStack(file)
  await rm(folder, { recursive: true })
  return { ...stack, customers, databaseUrl: (service) => urlOf(stack, service) }
}

function urlOf(stack: ThrowAwayStack, service: string): string {
  const database = serviceDatabases.find((one) => one.service === service)
  const url = database && stack.databaseUrls.get(database.environmentVariable)
  if (url === undefined) throw new Error(`The stack has no database of ${service}`)
  return url
}

export function auditStack(stack: CampaignStack, ledger: readonly LedgerEntry[]): Promise<AuditReport> {
  const readModels = serviceDatabases.map(
    ({ service, schema }): ReadModel => ({ service, schema, url: stack.databaseUrl(service) }),
  )
  return audit({
    connection: { brokers: stack.brokers, clientId: 'audit' },
    readModels,
    ledger,
    isAtRest: true,
  })
}
