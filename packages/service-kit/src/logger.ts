import { hostname } from 'node:os'
import { type DestinationStream, type Logger, pino } from 'pino'
import { messageOf } from './message-of.ts'

const MAX_STRING = 300

/**
 * Creates a service's log: one line of JSON per entry, to stdout.
 *
 * It must never contain customers' data, so fields are filtered by type. Numbers, booleans, short strings and errors pass;
 * objects such as records and bodies are dropped. Of an error only type, code, stack and the message without values pass.
 */
export function createLogger(service: string, level: string, destination: DestinationStream = stdout()): Logger {
  const options = {
    level,
    base: { service, instance: `${hostname()}:${process.pid}` },
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: {
      level: (label: string) => ({ level: label }),
      log: (fields: object) => Object.fromEntries(Object.entries(fields).flatMap(passField)),
    },
    // passField serializes errors under any name.
    serializers: { err: (err: unknown) => err },
  }
  return pino(options, destination)
}

/** Writes synchronously, because the lines just before the process ends matter most. */
function stdout(): DestinationStream {
  return pino.destination({ dest: 1, sync: true })
}

function passField([name, value]: [string, unknown]): [string, unknown][] {
  if (value instanceof Error) return [[name, describeError(value)]]
  if (typeof value === 'string') return [[name, shorten(value)]]
  if (typeof value === 'bigint') return [[name, String(value)]]
  return typeof value === 'number' || typeof value === 'boolean' || value === null ? [[name, value]] : []
}

function describeError(error: Error, depth = 0): object {
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const cause = error.cause instanceof Error && depth < 3 ? { cause: describeError(error.cause, depth + 1) } : {}
  return { type: error.name, ...code, message: shorten(messageOf(error)), stack: framesOf(error), ...cause }
}

/** Drops the first line, which repeats the message. */
function framesOf(error: Error): string {
  const frames = (error.stack ?? '').split('\n').filter((line) => line.startsWith('    at '))
  return frames.map((line) => line.trim()).join('\n')
}

function shorten(text: string): string {
  return text.length > MAX_STRING ? `${text.slice(0, MAX_STRING)}…` : text
}
