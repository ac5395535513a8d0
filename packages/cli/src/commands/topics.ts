import { DEFAULT_PARTITIONS, TOPICS } from '@nextvisit/contracts'
import { createLogAdmin, type TopicSettings } from '@nextvisit/log'
import { Command, InvalidArgumentError } from 'commander'
import { logConnection, readEnvironment } from '../config.ts'
import { print } from '../output.ts'

interface TopicFlags {
  readonly partitions: number
  readonly replicas?: number
}

/** They are the facts, so nothing may delete them, neither age nor size. */
const KEPT_FOR_EVER = { 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' }

export function topicsCommand(): Command {
  return new Command('topics')
    .description('Prepare the log.')
    .addCommand(
      new Command('create')
        .description('Make the topics that are not there yet; those that are stay as they are.')
        .option(
          '--partitions <n>',
          'of user-events and form-events; can never be changed',
          wholeNumber,
          DEFAULT_PARTITIONS,
        )
        .option('--replicas <n>', 'copies of each record; 3 or more in production (default: the broker’s)', wholeNumber)
        .addHelpText('after', '\nExample:\n  KAFKA_BROKERS=kafka:9092 nextvisit topics create --replicas 3')
        .action(createTopics),
    )
}

async function createTopics({ partitions, replicas }: TopicFlags): Promise<void> {
  const admin = createLogAdmin(logConnection(readEnvironment()))
  await admin.connect()
  try {
    for (const topic of [TOPICS.userEvents, TOPICS.formEvents, TOPICS.catalog]) {
      // The catalog's order is across all of its records, so it has one partition.
      const isNew = await admin.createTopic(topic, settings(topic === TOPICS.catalog ? 1 : partitions, replicas))
      print(`${topic}: ${isNew ? 'made' : 'is there'}`)
    }
  } finally {
    await admin.disconnect()
  }
}

function settings(partitions: number, replicas: number | undefined): TopicSettings {
  if (replicas === undefined) return { partitions, config: KEPT_FOR_EVER }
  // An acknowledged record is on two machines, and one may be down.
  const config = replicas >= 3 ? { ...KEPT_FOR_EVER, 'min.insync.replicas': '2' } : KEPT_FOR_EVER
  return { partitions, replicationFactor: replicas, config }
}

function wholeNumber(text: string): number {
  const number = Number(text)
  if (!/^\d{1,5}$/.test(text) || number < 1) throw new InvalidArgumentError('It must be a whole number, 1 or more.')
  return number
}
