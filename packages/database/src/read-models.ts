import { columnNameOf, type SqlType } from './column-types.ts'

/** A table as a model of `schema.prisma` describes it. */
export interface Model {
  readonly name: string
  readonly table: string
  readonly fields: readonly Field[]
  /** Properties, in the order of the primary key. */
  readonly key: readonly string[]
}

export interface Field {
  readonly property: string
  readonly column: string
  readonly type: SqlType
  readonly isNullable: boolean
  readonly hasDefault: boolean
  readonly isId: boolean
}

/** The models of a `schema.prisma`. Throws on a type that it does not know, and on a column not named after its property. */
export function readModels(schema: string): readonly Model[] {
  const models = schema.matchAll(/^model (?<name>\w+) \{\n(?<body>[\s\S]*?)^\}/gm)
  return Array.from(models, ({ groups }) => modelOf(groups?.['name'] ?? '', groups?.['body'] ?? ''))
}

function modelOf(name: string, body: string): Model {
  const lines = body.split('\n').map((line) => line.trim())
  const fields = lines.filter((line) => /^\w/.test(line)).map(fieldOf)
  const compositeKey = /@@id\(\[(?<list>[^\]]+)\]/.exec(body)?.groups?.['list']?.split(/,\s*/)
  const key = compositeKey ?? fields.filter(({ isId }) => isId).map(({ property }) => property)
  return { name, table: /@@map\("(?<table>\w+)"\)/.exec(body)?.groups?.['table'] ?? name, fields, key }
}

const FIELD = /^(?<property>\w+)\s+(?<scalar>\w+)(?<suffix>\?|\[\])?(?<attributes>.*)$/

function fieldOf(line: string): Field {
  const { property = '', scalar = '', suffix, attributes = '' } = FIELD.exec(line)?.groups ?? {}
  const native = / @db\.(?<native>\w+(\(\d+\))?)/.exec(attributes)?.groups?.['native']
  const type = TYPES.get(`${scalar}${native ? ` @db.${native}` : ''}${suffix === '[]' ? '[]' : ''}`)
  if (type === undefined) throw new Error(`"${line}" has a type that this reader of schema.prisma does not know.`)
  const column = / @map\("(?<column>\w+)"\)/.exec(attributes)?.groups?.['column'] ?? property
  if (column !== columnNameOf(property)) throw new Error(`The column of ${property} must be ${columnNameOf(property)}.`)
  return {
    property,
    column,
    type,
    isNullable: suffix === '?',
    hasDefault: attributes.includes(' @default('),
    isId: / @id\b/.test(attributes),
  }
}

const TYPES: ReadonlyMap<string, SqlType> = new Map([
  ['String', 'text'],
  ['String[]', 'text[]'],
  ['String @db.Uuid', 'uuid'],
  ['String @db.Uuid[]', 'uuid[]'],
  ['Boolean', 'boolean'],
  ['Int', 'int'],
  ['BigInt', 'bigint'],
  ['BigInt[]', 'bigint[]'],
  ['Json', 'jsonb'],
  ['Json @db.Json', 'json'],
  ['DateTime @db.Timestamptz(3)', 'timestamptz'],
])
