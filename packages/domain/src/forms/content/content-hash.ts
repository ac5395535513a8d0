import { createHash } from 'node:crypto'
import type { FormContent } from '@nextvisit/contracts'
import { canonicalJson } from '../../canonical-json.ts'

/** Returns the hash of a content, which is equal for equal contents, whatever the order of their members. */
export function contentHashOf(content: FormContent): string {
  return createHash('sha256').update(canonicalJson(content)).digest('hex').slice(0, 16)
}
