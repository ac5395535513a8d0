import { PrismaPg } from '@prisma/adapter-pg'
import {
  connectionConfigOf,
  type ConnectionOptions,
  NO_CACHED_PLANS,
  poolConfigOf,
  statementNameOf,
} from './connection-config.ts'

/** Creates the adapter of a service's Prisma client, with connections to its schema. */
export function createAdapter(options: ConnectionOptions): PrismaPg {
  const { schema, onPool } = options
  const adapter = new PrismaPg(
    { ...connectionConfigOf(options, NO_CACHED_PLANS), ...poolConfigOf(options) },
    {
      schema,
      onPoolError: options.onConnectionLost ?? (() => {}),
      statementNameGenerator: ({ sql }) => statementNameOf(sql),
    },
  )
  const connect = adapter.connect.bind(adapter)
  adapter.connect = async () => {
    const connected = await connect()
    onPool?.(connected.underlyingDriver())
    return connected
  }
  return adapter
}
