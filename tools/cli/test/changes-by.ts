import type { ListedChange } from '@nextvisit/operator-changes'
import { inject } from 'vitest'
import { runNextvisit } from './run-nextvisit.ts'

/** Lists the changes of an actor in the Kafka of the specs, newest first. */
export async function changesBy(actor: string): Promise<readonly ListedChange[]> {
  const env = { KAFKA_BROKERS: inject('kafkaBrokers'), NO_COLOR: '1' }
  const { stdout } = await runNextvisit(['changes', 'list', '--actor', actor, '--json'], env)
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as ListedChange)
}
