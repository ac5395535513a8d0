import type { ConsumerName } from '@nextvisit/services'
import { eventually, failFoldOf, readTopic, withProducer } from '@nextvisit/testing/black-box'
import type { CampaignStack } from './campaign-stack.ts'
import { foldsWithin } from './caught-up.ts'
import { type Fault, nothingToHeal } from './fault.ts'
import type { Measured } from './fault-result.ts'
import { queryRows } from './query-rows.ts'
import { watchOthers } from './watch-others.ts'

const CATALOG = 'catalog'
const SEEN_WITHIN_MS = 20_000
const READERS = 20
const NO_LAG_MS = 5_000
const BUGGY = 'a user that the fold fails for'
/** A separate user, whose partition is halted while the user is read. */
const BUGGY_AND_READ = 'a user that the fold fails for, and who is read'

interface CatalogRecord {
  readonly revision: number
  readonly config: { readonly projects: readonly { readonly forms: readonly object[] }[] }
}

/** Publishes the hostile organization's catalog as a later version would write it, with an unknown trigger. */
const laterCatalog: Fault['inject'] = async ({ stack, hostile: { project } }) => {
  await publishLater(stack, project.organization)
  const alarms = await eventually(
    () => alarmsOf(stack),
    (text) => text.includes(project.organization),
    SEEN_WITHIN_MS,
  )
  return {
    lastsMs: 0,
    heal: nothingToHeal,
    witness: async () => (alarms.includes(project.organization) ? 'the gateway names the organization' : undefined),
  }
}

async function alarmsOf(stack: CampaignStack): Promise<string> {
  return (await fetch(`${stack.internalUrlOf('gateway')}/readyz`)).text()
}

async function publishLater(stack: CampaignStack, organization: string): Promise<void> {
  const records = await readTopic(stack.brokers, CATALOG)
  const latest = records.findLast(({ value }) => value?.['organization'] === organization)
  if (!latest) throw new Error(`The catalog has no record of ${organization}`)
  const { key, headers } = latest
  const value = latest.value as unknown as CatalogRecord
  const projects = value.config.projects.map((project) => ({
    ...project,
    forms: [...project.forms, { id: 'of-a-later-version', triggers: [{ moonPhase: 'full' }] }],
  }))
  const next = {
    ...value,
    id: crypto.randomUUID(),
    revision: value.revision + 1,
    config: { ...value.config, projects },
  }
  const messages = [{ key, headers, value: JSON.stringify(next) }]
  await withProducer(stack, (producer) => producer.send({ topic: CATALOG, messages }))
}

/** Makes the user projector's fold of one user fail, like a bug. Only that user's partition may halt. */
const failingFold =
  (userName: string): Fault['inject'] =>
  async ({ stack, hostile: { project, client } }) => {
    const mend = await failFoldOf(stack, userName)
    await client.send(project, { route: '/v2/admin/identify-user', body: { userName } })
    const halted = await eventually(
      () => haltedPartitions(stack),
      (partitions) => partitions.length > 0,
      SEEN_WITHIN_MS,
    )
    return {
      lastsMs: 5_000,
      heal: mend,
      witness: async () =>
        halted.length === 1 ? 'one partition of the user projector halted, and no other' : undefined,
    }
  }

/** Halts a partition while the hostile organization reads its user at the maximum rate. */
const readsOfHalted: Fault['inject'] = async (context) => {
  const { stack, hostile } = context
  const injected = await failingFold(BUGGY_AND_READ)(context)
  const othersSince = await watchOthers(context)
  const url = `${stack.gatewayUrl}/v2/admin/users/${encodeURIComponent(BUGGY_AND_READ)}`
  const headers = { 'x-api-key': hostile.project.adminKey }
  const until = performance.now() + injected.lastsMs
  let refused = 0
  const read = async (): Promise<void> => {
    while (performance.now() < until) {
      for (const address of [url, `${url}/forms`]) {
        const answer = await fetch(address, { headers }).catch(() => undefined)
        await answer?.arrayBuffer()
        if (answer?.status === 503) refused += 1
      }
    }
  }
  const reading = Promise.all(Array.from({ length: READERS }, read))
  let measured: Measured = {}
  let areOthersFolded = false
  const measure = async (): Promise<void> => {
    await reading
    measured = await othersSince()
    const halted = await haltedPartitions(stack)
    const isHalted = (consumer: ConsumerName, partition: number) =>
      consumer === 'user-projector' && halted.includes(partition)
    areOthersFolded = halted.length === 1 && (await foldsWithin(stack, NO_LAG_MS, isHalted))
  }
  return {
    ...injected,
    heal: async () => {
      try {
        await measure()
      } finally {
        await injected.heal()
      }
    },
    witness: async () =>
      refused > 0 && areOthersFolded
        ? `${refused} reads of the halted partition were refused; no other is behind`
        : undefined,
    measured: () => measured,
  }
}

/** Lists the halted partitions. An alarm ends when the checkpoint passes its offset; its row stays. */
async function haltedPartitions(stack: CampaignStack): Promise<readonly number[]> {
  const sql = `SELECT partition FROM partition_alarms JOIN checkpoints USING (projection, topic, partition)
    WHERE kind = 'halted' AND next_offset <= "offset"`
  return (await queryRows<{ partition: number }>(stack, 'user-projector', sql)).map(({ partition }) => partition)
}

export const hostileRecords: readonly Fault[] = [
  { name: 'a catalog of a later version', family: 'hostile records', inject: laterCatalog },
  { name: 'a fold that fails', family: 'hostile records', inject: failingFold(BUGGY) },
  { name: 'reads of a halted partition', family: 'hostile records', inject: readsOfHalted },
]
