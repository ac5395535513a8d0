import type { Path } from './read-yaml.ts'

/** A value of the file and its path. It has no type, so that one fault does not hide another. */
export interface YamlNode {
  readonly path: Path
  readonly value: unknown
}

export function member(place: YamlNode, key: string): YamlNode {
  const { value } = place
  const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
  return { path: [...place.path, key], value: isThere ? (value as Record<string, unknown>)[key] : undefined }
}

/** Returns the items of a list member; none if it is not a list. */
export function items(place: YamlNode, key: string): readonly YamlNode[] {
  const list = member(place, key)
  return Array.isArray(list.value) ? list.value.map((value, index) => ({ path: [...list.path, index], value })) : []
}

export function text(place: YamlNode, key: string): string | undefined {
  const { value } = member(place, key)
  return typeof value === 'string' ? value : undefined
}
