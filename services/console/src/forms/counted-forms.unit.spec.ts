import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { givenNoServices } from '../../test/given-no-services.ts'
import { answered } from '../http/api-route.ts'
import { noAnswerOf } from '../services.ts'
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

it('the pages of forms with counts have one time limit together', async () => {
  const collector = {
    ...givenNoServices().collector,
    readFormFunnels: (_query: unknown, signal?: AbortSignal) =>
      sleep(40, answered({ forms: [], next: 'another' }), signal && { signal }).catch(() =>
        noAnswerOf('answer-collector'),
      ),
  }
  const read = createReadCountedForms({ collector, nowMs: () => 0, withinMs: 100 })
  const refused = await read({ organization: 'acme', project: 'shop' }, new AbortController().signal)
  expect(refused).toEqual(noAnswerOf('answer-collector'))
})
