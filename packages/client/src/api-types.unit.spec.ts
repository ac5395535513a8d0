import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { expect, it } from 'vitest'
import { apiTypes } from '../scripts/write-api-types.ts'

it('the types of the API match docs/reference/openapi.json (to update them: npx -y pnpm openapi)', async () => {
  expect(await readFile(path.join(import.meta.dirname, 'api-types.ts'), 'utf8')).toBe(await apiTypes())
})
