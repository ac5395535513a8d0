/**
 * The JavaScript values of each column type. Instants are ISO strings, as in records. JSON is its text, so that a key such
 * as `__proto__` passes through `JSON.parse` only. A bigint is read as a safe integer.
 */
interface Values {
  readonly text: string
  readonly uuid: string
  readonly boolean: boolean
  readonly int: number
  readonly bigint: number | bigint
  readonly timestamptz: string
  readonly json: string
  readonly jsonb: string
  readonly bytea: Uint8Array
  readonly 'bigint[]': readonly number[]
  readonly 'text[]': readonly string[]
  readonly 'uuid[]': readonly string[]
}

export type SqlType = keyof Values

/** A type of Postgres, with `?` if the column may be null. */
type ColumnType = SqlType | `${SqlType}?`

/** Columns by property. The name in SQL is the property in snake case: `userId` becomes `user_id`. */
export type Columns = Readonly<Record<string, ColumnType>>

/** The columns of a Prisma model. `{ … } satisfies ColumnsOf<User>` checks names, types and nullability. */
export type ColumnsOf<Model> = { readonly [Property in keyof Model]: ColumnTypeOf<Model[Property]> }

type ColumnTypeOf<Value> = [string | true] extends [Value]
  ? 'json' | 'json?' | 'jsonb' | 'jsonb?'
  : null extends Value
    ? `${SqlTypeOf<NonNullable<Value>>}?`
    : SqlTypeOf<Value>

type SqlTypeOf<Value> = [Value] extends [string]
  ? 'text' | 'uuid'
  : [Value] extends [boolean]
    ? 'boolean'
    : [Value] extends [number]
      ? 'int'
      : [Value] extends [bigint]
        ? 'bigint'
        : [Value] extends [Date]
          ? 'timestamptz'
          : [Value] extends [bigint[]]
            ? 'bigint[]'
            : [Value] extends [string[]]
              ? 'text[]' | 'uuid[]'
              : never

type Nullable<Of extends Columns> = { [Name in keyof Of]: Of[Name] extends `${string}?` ? Name : never }[keyof Of]
type Bare<Type extends ColumnType> = Type extends `${infer Of extends SqlType}?` ? Of : Type

/** A row to write. Nullable columns may be omitted. */
export type RowToWrite<Of extends Columns> = {
  readonly [Name in Exclude<keyof Of, Nullable<Of>>]: Values[Bare<Of[Name]> & SqlType]
} & { readonly [Name in Nullable<Of>]?: Values[Bare<Of[Name]> & SqlType] | null | undefined }

type Read<Type extends SqlType> = Type extends 'bigint' ? number : Values[Type]

/** A row that was read. */
export type StoredRow<Of extends Columns> = {
  readonly [Name in keyof Of]: Read<Bare<Of[Name]> & SqlType> | (Name extends Nullable<Of> ? null : never)
}

/** Conversions of a type whose values Postgres or its driver represents in another way. */
interface Form {
  /** Element type of the array in which values are sent. */
  readonly arrayOf?: string
  readonly write?: (value: never) => unknown
  /** Returns the SQL that converts a sent column to the stored one. Default: a cast. */
  readonly decode?: (column: string) => string
  /** Returns the SQL that selects a column. */
  readonly select?: (column: string) => string
  readonly read?: (value: never) => unknown
}

// Lists are sent as literals of Postgres: `unnest` would flatten a list of lists.
const NUMBERS: Form = {
  arrayOf: 'text',
  write: (values: readonly number[]) => `{${values.join()}}`,
  select: (column) => `array_to_string(${column}, ',')`,
  read: (text: string) => (text === '' ? [] : text.split(',').map(Number)),
}

const TEXTS: Form = {
  arrayOf: 'text',
  write: (values: readonly string[]) =>
    `{${values.map((value) => `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`).join()}}`,
}

const FORMS: { readonly [Type in SqlType]?: Form } = {
  bigint: { read: Number },
  timestamptz: { read: (instant: Date | string) => new Date(instant).toISOString() },
  json: { select: (column) => `${column}::text` },
  jsonb: { select: (column) => `${column}::text` },
  // Base64 is shorter than hex and needs no escaping. A record may have a megabyte, and is copied several times.
  bytea: {
    arrayOf: 'text',
    write: (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'),
    decode: (column) => `decode(${column}, 'base64')`,
  },
  'bigint[]': NUMBERS,
  'text[]': TEXTS,
  'uuid[]': TEXTS,
}

/** A column, as statements are built from it. */
export interface Column extends Form {
  readonly property: string
  /** The quoted name in SQL. */
  readonly name: string
  readonly type: string
}

/** Returns the columns of a declaration, in its order. */
export function toColumns(declared: Columns): Column[] {
  return Object.entries(declared).map(([property, declaredType]) => {
    const type = declaredType.replace('?', '') as SqlType
    return { property, name: `"${columnNameOf(property)}"`, type, ...FORMS[type] }
  })
}

/** Returns the name of a column in SQL: `userId` becomes `user_id`. */
export function columnNameOf(property: string): string {
  return property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/** Converts an optional instant in ms to a nullable column. */
export function isoOf(instantMs: number): string
export function isoOf(instantMs: number | undefined): string | null
export function isoOf(instantMs: number | undefined): string | null {
  return instantMs === undefined ? null : new Date(instantMs).toISOString()
}

/** Converts a nullable column to an optional instant in ms. */
export function msOf(instant: string | null): number | undefined {
  return instant === null ? undefined : Date.parse(instant)
}
