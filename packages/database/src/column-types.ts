/**
 * What JavaScript gives for a column of a type, and gets from it. Instants are ISO strings, as records carry them, and
 * JSON is its text: a key such as `__proto__` then passes through `JSON.parse` only. Numbers of a bigint column are safe
 * integers when they are read.
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

/** A type of Postgres; with `?` for a column that may hold null. */
export type ColumnType = SqlType | `${SqlType}?`

/** Columns by property. A column's name in SQL is its property in snake case: `userId` is `user_id`. */
export type Columns = Readonly<Record<string, ColumnType>>

/** The columns of a Prisma model: `{ … } satisfies ColumnsOf<User>` checks the names, the types and what may be null. */
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

/** A row to write. What may be null may be left out, too. */
export type RowToWrite<Of extends Columns> = {
  readonly [Name in Exclude<keyof Of, Nullable<Of>>]: Values[Bare<Of[Name]> & SqlType]
} & { readonly [Name in Nullable<Of>]?: Values[Bare<Of[Name]> & SqlType] | null | undefined }

type Read<Type extends SqlType> = Type extends 'bigint' ? number : Values[Type]

/** A row as it was read. */
export type StoredRow<Of extends Columns> = {
  readonly [Name in keyof Of]: Read<Bare<Of[Name]> & SqlType> | (Name extends Nullable<Of> ? null : never)
}

/** How a type's values travel where Postgres or its driver would have them in another form. */
interface Form {
  /** As they travel in an array. */
  readonly arrayOf?: string
  readonly write?: (value: never) => unknown
  /** What to store of a column that travelled in another form. Left out: a cast. */
  readonly decode?: (column: string) => string
  /** What to select of a column. */
  readonly select?: (column: string) => string
  readonly read?: (value: never) => unknown
}

// Lists travel as literals of Postgres: `unnest` would flatten a list of lists.
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
  // A record of a megabyte is copied several times on its way: base64 is shorter than hex, and nothing in it is escaped.
  bytea: {
    arrayOf: 'text',
    write: (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64'),
    decode: (column) => `decode(${column}, 'base64')`,
  },
  'bigint[]': NUMBERS,
  'text[]': TEXTS,
  'uuid[]': TEXTS,
}

/** A column as statements are made of it. */
export interface Column extends Form {
  readonly property: string
  /** Quoted. */
  readonly name: string
  readonly type: string
}

/** The columns of a declaration, in its order. */
export function toColumns(declared: Columns): Column[] {
  return Object.entries(declared).map(([property, declaredType]) => {
    const type = declaredType.replace('?', '') as SqlType
    return { property, name: `"${columnNameOf(property)}"`, type, ...FORMS[type] }
  })
}

/** `userId` is `user_id`. */
export function columnNameOf(property: string): string {
  return property.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
