import type { Path } from './read-yaml.ts'

/** A value of the file with where it stands. Says nothing of its shape, so that one fault does not hide another. */
export interface Place {
  readonly path: Path
  readonly value: unknown
}

export function member(place: Place, key: string): Place {
  const { value } = place
  const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key)
  return { path: [...place.path, key], value: isThere ? (value as Record<string, unknown>)[key] : undefined }
}

/** The items of a member that is a list; none where it is not. */
export function items(place: Place, key: string): readonly Place[] {
  const list = member(place, key)
  return Array.isArray(list.value) ? list.value.map((value, index) => ({ path: [...list.path, index], value })) : []
}

export function text(place: Place, key: string): string | undefined {
  const { value } = member(place, key)
  return typeof value === 'string' ? value : undefined
}
