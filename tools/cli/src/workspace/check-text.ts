import { isStorable } from '@nextvisit/contracts'
import type { Problem } from './explain-issue.ts'
import type { YamlNode } from './yaml-node.ts'

const message = 'holds U+0000 or half of a surrogate pair (such as an emoji that was cut in two): remove it'

/** Text that no record may hold (record-codec.ts): every process would refuse the whole organization. */
export function checkText({ path, value }: YamlNode): readonly Problem[] {
  if (typeof value === 'string') return isStorable(value) ? [] : [{ path, message }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, item]) =>
    checkText({ path: [...path, Array.isArray(value) ? Number(name) : name], value: item }),
  )
}
