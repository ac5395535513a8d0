import { countArraySteps } from '@nextvisit/contracts/count-array-steps'
import { ProjectConfig } from '@nextvisit/contracts'
import { describe, expect, it } from 'vitest'
import { compileForms } from './form-index.ts'

/** Compiles forms, each with a trigger on each of these events. `visit` and `every` stand for these triggers. */
function indexOf(forms: Readonly<Record<string, readonly string[]>>) {
  const written = Object.entries(forms).map(([id, events]) => ({ id, triggers: events.map(triggerOn) }))
  return compileForms(ProjectConfig.parse({ id: 'shop', forms: written }))
}

describe('the forms of a project', () => {
  it('are found by the slug of an event, in the order of the file, with those on any event', () => {
    const index = indexOf({ one: ['paid', 'Paid'], two: ['every'], three: ['visit'], four: ['opened', 'paid'] })
    const idsOn = (slug: string) => index.onEvent(slug).map(({ id }) => id)
    expect(idsOn('paid')).toEqual(['one', 'two', 'four'])
    expect(idsOn('opened')).toEqual(['two', 'four'])
    expect(idsOn('closed')).toEqual(['two'])
    expect(index.reactsTo('closed')).toBe(true)
  })

  it('react only to slugs of their triggers', () => {
    const index = indexOf({ one: ['paid'], two: ['visit'] })
    expect(['paid', 'opened'].map(index.reactsTo)).toEqual([true, false])
    expect(index.onEvent('opened')).toEqual([])
  })

  it.each([
    ['one form with many triggers', (count: number) => ({ nps: slugs(count) })],
    ['many forms', (count: number) => Object.fromEntries(slugs(count).map((slug) => [slug, [slug]]))],
  ])('of %s are compiled in time that grows with their number', (_what, formsOf) => {
    const stepsOf = (count: number) => countArraySteps(() => indexOf(formsOf(count)))
    expect(stepsOf(1_000) / stepsOf(500)).toBeLessThan(2.5)
  })
})

function slugs(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `e${at}`)
}

function triggerOn(event: string): object {
  if (event === 'visit') return { visit: {} }
  return event === 'every' ? { firstSeen: { after: '1d' } } : { event }
}
