import { PrismaPg } from '@prisma/adapter-pg'
import {
  connectionConfigOf,
  type ConnectionOptions,
  PLANNED_ANEW,
  poolConfigOf,
  statementNameOf,
} from './connection-config.ts'

/** A service's connections to its schema, for its Prisma client. */
export function createAdapter(options: ConnectionOptions): PrismaPg {
  const { schema, onPool } = options
  const adapter = new PrismaPg(
    { ...connectionConfigOf(options, PLANNED_ANEW), ...poolConfigOf(options) },
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
