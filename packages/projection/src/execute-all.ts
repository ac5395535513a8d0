import { type Db, sql, type Statement } from '@nextvisit/database'

/**
 * Executes statements in order, all of them or none, in one round trip (the SQL function `execute_all` of the core's
 * migrations). BEGIN, one statement at a time and COMMIT would each be a round trip. Values are sent as text, so each needs
 * a cast in its statement (`${ids}::uuid[]`), except numbers and booleans, which are cast here.
 */
export async function executeAll(db: Pick<Db, '$executeRaw'>, statements: readonly Statement[]): Promise<void> {
  const values: (string | null)[] = []
  const texts = statements.map((statement) => textOf(statement, values))
  await db.$executeRaw(sql`SELECT execute_all(${texts}::text[], ${values}::text[])`)
}

/** The statement, with its values as elements of the one argument. Adds them to `values`. */
function textOf({ strings, values: own }: Statement, values: (string | null)[]): string {
  const [first = '', ...others] = strings
  return others.reduce((text, part, index) => {
    const value = own[index]
    values.push(toText(value))
    return `${text}$1[${values.length}]${castOf(value)}${part}`
  }, first)
}

function castOf(value: unknown): string {
  if (typeof value === 'boolean') return '::boolean'
  if (typeof value === 'bigint' || Number.isInteger(value)) return '::bigint'
  return typeof value === 'number' ? '::float8' : ''
}

/** In Postgres' text format. */
function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return `{${value.map(toElement).join(',')}}`
  if (value instanceof Date) return value.toISOString()
  if (isPlain(value)) return String(value)
  throw new TypeError('A value of a statement is an object; give its JSON')
}

function isPlain(value: unknown): value is string | number | bigint | boolean {
  return ['string', 'number', 'bigint', 'boolean'].includes(typeof value)
}

function toElement(value: unknown): string {
  const text = toText(value)
  return text === null ? 'NULL' : `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}
