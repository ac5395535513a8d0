/**
 * `pnpm benchmark:replay [RECORDS] [USERS]`: measures the rebuild of each consumer's read models from the log, with the command
 * that an operator uses. It is a dry run: nothing is swapped, and the rows must be equal.
 */
import { cpus, loadavg } from 'node:os'
import { consumers } from '@nextvisit/services'
import { eventually, fillLog, startThrowAwayStack } from '@nextvisit/testing/black-box'
import { readCountsOrExit } from './read-counts.ts'
import { CLI, runNode } from './run-node.ts'

const FOLDED_WITHIN_MS = 900_000
const HELP = `Usage: npx -y pnpm benchmark:replay [RECORDS] [USERS]

Starts its own stack, and measures a dry run of nextvisit replay for each consumer.

  RECORDS   records in the log (default 200000)
  USERS     users of these records (default 19997)
  --help`
const [records = 0, users = 0] = readCountsOrExit(HELP, [
  { name: 'RECORDS', byDefault: 200_000 },
  { name: 'USERS', byDefault: 19_997 },
])

const stack = await startThrowAwayStack()

try {
  const [organization] = stack.organizations
  const project = organization?.projects[0]
  if (!organization || !project) throw new Error('The workspace has no project')
  console.log(`Publishing ${records} records of ${users} users, and folding them live …`)
  await fillLog(stack.brokers, {
    projects: [{ organization: organization.id, project: project.id }],
    facts: records,
    users,
    secretKey: stack.secretKey,
  })
  const isLevel = await eventually(areAllLevel, Boolean, FOLDED_WITHIN_MS, 2_000)
  if (!isLevel) throw new Error('The consumers did not fold the records in time')
  console.log(`\n${cpus().length} cores, shared with the whole stack.\n`)
  console.log('| rebuilt | records/s | the command took s | load before |\n|---|---|---|---|')
  for (const { name: service } of consumers) {
    const load = loadavg()[0]?.toFixed(1)
    const beganAt = performance.now()
    const output = await nextvisit('replay', service, '--dry-run')
    const seconds = ((performance.now() - beganAt) / 1_000).toFixed(1)
    console.log(`| ${service} | ${/\(([\d,]+) records\/s\)/.exec(output)?.[1]} | ${seconds} | ${load} |`)
  }
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  await stack.remove()
  process.exit()
}

async function areAllLevel(): Promise<boolean> {
  const status = JSON.parse(await nextvisit('status', '--json')) as {
    consumers: readonly { readonly lagRecords: number }[]
  }
  return status.consumers.every(({ lagRecords }) => lagRecords === 0)
}

function nextvisit(...args: readonly string[]): Promise<string> {
  return runNode([CLI, ...args], { NEXTVISIT_DATA: stack.dataDirectory })
}
