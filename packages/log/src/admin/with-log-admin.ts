import type { LogConnection } from '../connect/log-connection.ts'
import type { Watermarks } from '../watermarks.ts'
import { createLogAdmin, type LogAdmin, type LogAdminOptions } from './log-admin.ts'

/** Runs rare queries over a new connection and closes it. Rejects with the query's errors and BrokerUnreachableError. */
export async function withLogAdmin<Answer>(
  connection: LogConnection,
  ask: (admin: LogAdmin) => Promise<Answer>,
  options?: LogAdminOptions,
): Promise<Answer> {
  const admin = createLogAdmin(connection, options)
  await admin.connect()
  try {
    return await ask(admin)
  } finally {
    // An error while closing must not replace the answer or the first error.
    await admin.disconnect().catch(() => {})
  }
}

/** Returns the watermarks of a topic, by partition, over a new connection. Rejects with TopicMissingError. */
export function readWatermarks(
  connection: LogConnection,
  topic: string,
  options?: LogAdminOptions,
): Promise<ReadonlyMap<number, Watermarks>> {
  return withLogAdmin(connection, (admin) => admin.watermarks(topic), options)
}
