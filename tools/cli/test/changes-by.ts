import type { ListedChange } from '@nextvisit/operator-changes'
import { inject } from 'vitest'
import { runNextvisit } from './run-nextvisit.ts'

/** Lists the changes of an actor in the Kafka of the specs, newest first. */
export async function changesBy(actor: string): Promise<readonly ListedChange[]> {
  const env = { KAFKA_BROKERS: inject('kafkaBrokers'), NO_COLOR: '1' }
  const { stdout } = await runNextvisit(['changes', 'list', '--actor', actor, '--json'], env)
  return changesIn(stdout)
}

/** Returns the changes that `changes list --json` printed. */
export function changesIn(stdout: string): readonly ListedChange[] {
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as ListedChange]))
}
