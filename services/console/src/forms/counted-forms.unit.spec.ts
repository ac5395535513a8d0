import { expect, it } from 'vitest'
import { givenNoServices } from '../../test/given-no-services.ts'
import { answered } from '../http/api-route.ts'
import { createReadCountedForms } from './counted-forms.ts'

it('forms with counts are forgotten after ten seconds, once those of another project are read', async () => {
  let now = 0
  const collector = {
    ...givenNoServices().collector,
    readFormFunnels: async () => answered({ forms: [], next: null }),
  }
  const kept = new Map<string, { readonly ids: readonly string[]; readonly readAtMs: number }>()
  const read = createReadCountedForms({ collector, nowMs: () => now }, kept)
  const { signal } = new AbortController()
  for (const project of ['one', 'two', 'three']) await read({ organization: 'acme', project }, signal)
  expect(kept.size).toBe(3)
  now = 10_000
  await read({ organization: 'acme', project: 'four' }, signal)
  expect(kept.size).toBe(1)
})
