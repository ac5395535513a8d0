import type { Connection } from 'pg'
import { statementNameOf } from './connection-config.ts'
import type { Sql } from '../sql.ts'

/** The members of pg's connection that its types lack. */
interface PipelineConnection extends Connection {
  /** The texts of the statements that this connection has prepared, by name. */
  readonly parsedStatements: Record<string, string>
}

/**
 * Sends statements together up to one `Sync`, which makes them one transaction without BEGIN (Postgres' documentation,
 * Extended Query, Pipelining). A connection prepares each statement once. Answers are dropped. After an error the
 * connection must be closed, because it is unknown which statements it has prepared.
 */
export class CommitPipeline {
  /** Rejects with the first error. Nothing is committed then, unless the connection was lost: the outcome is unknown. */
  readonly committed: Promise<void>
  readonly #statements: readonly { readonly text: string; readonly values: (string | null)[] }[]
  readonly #outcome = Promise.withResolvers<void>()

  /** Throws a `TypeError` for a value without a unique text form. */
  constructor(statements: readonly Sql[]) {
    this.#statements = statements.map(({ text, values }) => ({ text, values: values.map(toText) }))
    this.committed = this.#outcome.promise
  }

  /** Returns the number of characters of all values. */
  countCharacters(): number {
    let sum = 0
    for (const { values } of this.#statements) for (const value of values) sum += value?.length ?? 0
    return sum
  }

  readonly submit = (connection: Connection): void => this.#send(connection as PipelineConnection)

  #send(connection: PipelineConnection): void {
    connection.stream.cork()
    for (const { text, values } of this.#statements) {
      const name = statementNameOf(text)
      if (connection.parsedStatements[name] === undefined) {
        connection.parse({ name, text, types: [] }, true)
        connection.parsedStatements[name] = text
      }
      connection.bind({ statement: name, values }, true)
      connection.execute({}, true)
    }
    connection.sync()
    connection.stream.uncork()
  }

  handleError(error: Error): void {
    this.#outcome.reject(error)
  }

  handleReadyForQuery(): void {
    this.#outcome.resolve()
  }

  handleDataRow(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
}

/** Converts a value to Postgres' text format. */
function toText(value: unknown): string | null {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value)
    case 'undefined':
      return null
    default:
      if (value === null) return null
      if (Array.isArray(value)) return `{${value.map(toElement).join(',')}}`
      if (value instanceof Date) return value.toISOString()
      throw new TypeError('A value of a statement is an object; give its JSON')
  }
}

const [MUST_ESCAPE, EACH_TO_ESCAPE] = [/["\\]/, /["\\]/g]

function toElement(value: unknown): string {
  // No quotes are needed, and there are many numbers.
  if (typeof value === 'number') return String(value)
  const text = toText(value)
  if (text === null) return 'NULL'
  // Nearly no text has a character to escape, and the search is cheaper than the replacement.
  return MUST_ESCAPE.test(text) ? `"${text.replaceAll(EACH_TO_ESCAPE, String.raw`\$&`)}"` : `"${text}"`
}
