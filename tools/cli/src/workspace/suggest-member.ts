import { branchesOfTree, WorkspaceFile } from '@nextvisit/contracts'
import { z } from 'zod'
import { isNearly } from '../is-nearly.ts'
import type { Path } from './read-yaml.ts'

/** A longer name is no misspelt one. */
const MAX_NAME_LENGTH = 40
/** Shortest unknown name that may be a part of the meant one, such as `cooldown` of `formCooldown`. */
const MIN_PART_LENGTH = 4
const MAX_SHOWN_LENGTH = 30
/** Members of one value that are compared. */
const MAX_COMPARED = 50
/** A member is sought in this many mappings, one in the other. */
const MAX_LEVELS = 3

/**
 * Suggests what the author meant by an unknown member, such as `did you mean repeat: { every: 30d }?`. It is misspelt, or is
 * at the wrong level and fits at another one. undefined: nothing fits.
 */
export function suggestMember(path: Path, name: string, root: unknown): string | undefined {
  const shapes = objectsAt(path).map(({ shape }) => shape)
  const given = valueAt(root, path)
  const value = valueAt(given, [name])
  const known = namesIn(shapes).filter((one) => valueAt(given, [one]) === undefined)
  return (
    misspelt(name, known) ??
    inside(shapes, name, value) ??
    inPart(shapes, known, name, value) ??
    above(path, name, value, root)
  )
}

/** Suggests what the author meant by a value of another shape: a list of it, a member around it, or a misspelt member in it. */
export function suggestValue(path: Path, root: unknown): string | undefined {
  const value = valueAt(root, path)
  if (value === undefined || value === null) return undefined
  const schemas = schemasAt(path)
  return around(path, schemas, value) ?? misspeltIn(schemas, value)
}

function around(path: Path, schemas: readonly z.ZodType[], value: unknown): string | undefined {
  const name = path.at(-1)
  if (typeof name !== 'string') return undefined
  for (const schema of schemas) {
    if (schema instanceof z.ZodArray && fits(schema.element, value)) return didYouMean(`${name}: [${shown(value)}]`)
    if (!(schema instanceof z.ZodObject)) continue
    const meant = Object.keys(schema.shape).find((inner) => fits(schema, { [inner]: value }))
    if (meant !== undefined) return didYouMean(`${name}: { ${meant}: ${shown(value)} }`)
  }
  return undefined
}

/** Of a value that is none of several kinds, such as a trigger. */
function misspeltIn(schemas: readonly z.ZodType[], value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const known = namesIn(schemas.flatMap((schema) => (schema instanceof z.ZodObject ? schema.shape : [])))
  const free = known.filter((one) => !Object.hasOwn(value, one))
  for (const name of Object.keys(value).slice(0, MAX_COMPARED)) {
    const meant = known.includes(name) ? undefined : misspelt(name, free)
    if (meant !== undefined) return meant
  }
  return undefined
}

type Shape = z.core.$ZodShape

function namesIn(shapes: readonly Shape[]): readonly string[] {
  return [...new Set(shapes.flatMap((shape) => Object.keys(shape)))]
}

/** Returns whether a mapping may have this member with this value. Inherited names, such as `toString`, do not count. */
function takes(shape: Shape, name: string, value: unknown): boolean {
  return Object.hasOwn(shape, name) && fits(shape[name] as z.core.$ZodType, value)
}

function misspelt(name: string, known: readonly string[]): string | undefined {
  if (name.length > MAX_NAME_LENGTH) return undefined
  const meant = known.find((one) => isNearly(name, one))
  return meant && didYouMean(meant)
}

/** The member belongs into another one, as `every` belongs into `repeat`. Prefers places where nothing else is missing. */
function inside(shapes: readonly Shape[], name: string, value: unknown): string | undefined {
  const found = shapes.flatMap((shape) => placesIn(shape, name, value, 1))
  const best = found.toSorted((one, other) => rankOf(one) - rankOf(other))[0]
  return best && didYouMean(best.text)
}

interface Place {
  /** Such as `frequency: { repeat: { every: 30d } }`. */
  readonly text: string
  /** The mapping needs no other member. */
  readonly isWhole: boolean
  /** Number of mappings around the member. */
  readonly levels: number
}

function rankOf({ isWhole, levels }: Place): number {
  return levels + (isWhole ? 0 : MAX_LEVELS)
}

function placesIn(shape: Shape, name: string, value: unknown, levels: number): Place[] {
  return Object.entries(shape).flatMap(([outer, member]) =>
    innerObjects(member as z.ZodType).flatMap(({ schema, isItem }) => {
      const own: Place[] = takes(schema.shape, name, value)
        ? [{ text: `${name}: ${shown(value)}`, isWhole: fits(schema, { [name]: value }), levels }]
        : []
      const deeper = levels < MAX_LEVELS ? placesIn(schema.shape, name, value, levels + 1) : []
      return [...own, ...deeper].map((place) => ({
        ...place,
        text: `${outer}: ${isItem ? `[{ ${place.text} }]` : `{ ${place.text} }`}`,
      }))
    }),
  )
}

/** The name is a part of the meant one, or contains it, and the value fits. */
function inPart(shapes: readonly Shape[], free: readonly string[], name: string, value: unknown): string | undefined {
  const given = name.toLowerCase()
  if (given.length < MIN_PART_LENGTH || given.length > MAX_NAME_LENGTH) return undefined
  const meant = free.find((one) => {
    const other = one.toLowerCase()
    const isPart = other.includes(given) || (other.length >= MIN_PART_LENGTH && given.includes(other))
    return isPart && shapes.some((shape) => takes(shape, one, value))
  })
  return meant && didYouMean(`${meant}: ${shown(value)}`)
}

/** The member belongs to a mapping around this one, as `delay` belongs to the form and not to its frequency. */
function above(path: Path, name: string, value: unknown, root: unknown): string | undefined {
  for (let length = path.length - 1; length >= 0; length -= 1) {
    const outer = path.slice(0, length)
    if (valueAt(root, [...outer, name]) !== undefined) continue
    const beside = path.slice(length).find((step) => typeof step === 'string')
    if (beside !== undefined && objectsAt(outer).some(({ shape }) => takes(shape, name, value)))
      return `it belongs beside ${beside}, not into it`
  }
  return undefined
}

function didYouMean(meant: string): string {
  return `did you mean ${meant}?`
}

function fits(schema: z.core.$ZodType, value: unknown): boolean {
  return z.safeParse(schema, value).success
}

/** Formats a value as in YAML; a long one as `…`. */
function shown(value: unknown): string {
  const text = typeof value === 'string' && /^[\w$.:/-]+$/.test(value) ? value : flow(value)
  return text.length > MAX_SHOWN_LENGTH ? '…' : text
}

function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  return `{ ${Object.entries(value)
    .map(([name, member]) => `${name}: ${shown(member)}`)
    .join(', ')} }`
}

/** Returns the schemas that a value at this path may have. A union counts as each of its branches. */
function schemasAt(path: Path): readonly z.ZodType[] {
  return path.reduce<readonly z.ZodType[]>(
    (schemas, step) => schemas.flatMap((schema) => (memberOf(schema, step) ?? []).flatMap(alternatives)),
    alternatives(WorkspaceFile),
  )
}

function objectsAt(path: Path): readonly z.ZodObject[] {
  return schemasAt(path).filter((schema) => schema instanceof z.ZodObject)
}

function memberOf(schema: z.ZodType, step: string | number): readonly z.ZodType[] | undefined {
  if (schema instanceof z.ZodArray) return [schema.element as z.ZodType]
  if (!(schema instanceof z.ZodObject) || !Object.hasOwn(schema.shape, step)) return undefined
  return [schema.shape[step] as z.ZodType]
}

/** The mappings in a member: its own, and those of its items. */
function innerObjects(schema: z.ZodType): readonly InnerObject[] {
  return alternatives(schema).flatMap((one): readonly InnerObject[] => {
    if (one instanceof z.ZodObject) return [{ schema: one, isItem: false }]
    if (!(one instanceof z.ZodArray)) return []
    return alternatives(one.element as z.ZodType).flatMap((item) =>
      item instanceof z.ZodObject ? [{ schema: item, isItem: true }] : [],
    )
  })
}

interface InnerObject {
  readonly schema: z.ZodObject
  readonly isItem: boolean
}

/** Removes defaults and options around a schema, and splits unions and conditions. */
function alternatives(schema: z.ZodType): readonly z.ZodType[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return alternatives(schema.unwrap() as z.ZodType)
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => alternatives(option as z.ZodType))
  const branches = branchesOfTree(schema)
  return branches.length > 0 ? branches.flatMap(alternatives) : [schema]
}

/** Returns the value of a path; undefined if there is none. */
export function valueAt(root: unknown, path: Path): unknown {
  let value = root
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string | number, unknown>)[step]
  }
  return value
}
