import { NAME_CAPS, ProjectConfig } from '@nextvisit/contracts'
import { expect, it } from 'vitest'
import { capOnNewEvents, capsOnNewTraits } from './name-caps.ts'

const config = ProjectConfig.parse({ id: 'shop', clientCreatedEvents: false, clientCreatedTraits: false })
const project = {
  plan: { uniqueEvents: 5, uniqueTraits: 7 },
  config,
  declaredEvents: new Set(['checkout']),
  declaredTraits: new Set(['plan']),
}
const open = { ...project, config: ProjectConfig.parse({ id: 'shop' }) }
const unplanned = { ...project, plan: {} }
const server = { kind: 'admin', environment: 'P' } as const
const capOf = (...given: Parameters<typeof capOnNewEvents>) => capOnNewEvents(...given).limit
const client = { kind: 'sdk', environment: 'P' } as const

it('new events are capped by the plan in P, and by the bound of every project', () => {
  const staging = { kind: 'admin', environment: 'T' } as const
  expect([capOf(project, server, 'a'), capOf(project, staging, 'a')]).toEqual([5, NAME_CAPS.event.bound])
  expect(capOf(unplanned, server, 'a')).toBe(NAME_CAPS.event.bound)
})

it('SDK keys create only declared events, unless the project allows others', () => {
  expect(capOnNewEvents(project, client, 'a')).toEqual({ limit: 0, reason: 'newEvent' })
  expect(capOnNewEvents(project, client, 'checkout')).toEqual({ limit: 5, reason: 'uniqueEvents' })
  expect(capOnNewEvents(open, client, 'a')).toEqual({ limit: 5, reason: 'uniqueEvents' })
})

it('new traits are capped by the plan, and by the bound of every project', () => {
  expect(capsOnNewTraits(project, server, ['a', 'plan'])).toEqual([{ slugs: ['a', 'plan'], limit: 7 }])
  expect(capsOnNewTraits(unplanned, server, ['a'])).toEqual([{ slugs: ['a'], limit: NAME_CAPS.trait.bound }])
})

it('SDK keys create only declared traits, unless the project allows others', () => {
  expect(capsOnNewTraits(open, client, ['a', 'plan'])).toEqual([{ slugs: ['a', 'plan'], limit: 7 }])
  expect(capsOnNewTraits(project, client, ['a', 'plan'])).toEqual([
    { slugs: ['plan'], limit: 7 },
    { slugs: ['a'], limit: 0 },
  ])
})
