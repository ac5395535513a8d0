import { type ConsumerName, consumers } from '@nextvisit/services'
import { StackError } from './errors.ts'

/** Number of processes of consumers that have more or fewer than one. */
export type Scale = ReadonlyMap<ConsumerName, number>

/** Further processes would own none of the 12 partitions. */
const MAX_PROCESSES = 12
/** The processes of all consumers: Postgres here has 200 connections, and each process opens at most 12. */
const MAX_IN_ALL = 15

/** Reads the values of `--scale`, such as `metering=3`. Throws INVALID_SETTING. */
export function readScale(values: readonly string[]): Scale {
  const scale = new Map(values.map(readOne))
  const inAll = consumers.reduce((sum, { name }) => sum + (scale.get(name) ?? 1), 0)
  if (inAll > MAX_IN_ALL)
    throw invalid(
      `--scale asks for ${inAll} processes of consumers in all, but one machine has Postgres connections for ${MAX_IN_ALL}.`,
    )
  return scale
}

function readOne(value: string): [ConsumerName, number] {
  const [, name, count] = /^([^=]+)=(\d+)$/.exec(value) ?? []
  if (name === undefined)
    throw invalid(`--scale ${value}: write the consumer and its number of processes, such as --scale metering=3.`)
  const consumer = consumers.find((one) => one.name === name)
  if (!consumer)
    throw invalid(
      `--scale ${value}: there is no consumer ${name}. The consumers are ${consumers.map((one) => one.name).join(', ')}; the gateway and the console have one process each.`,
    )
  const processes = Number(count)
  if (processes < 1 || processes > MAX_PROCESSES)
    throw invalid(`--scale ${value}: a consumer has 1 to ${MAX_PROCESSES} processes.`)
  return [consumer.name, processes]
}

function invalid(message: string): StackError {
  return new StackError('INVALID_SETTING', message)
}
