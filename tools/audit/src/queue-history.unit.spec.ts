import { describe, expect, it } from 'vitest'
import { at, queued, track } from '../test/form-records.ts'
import { createQueueHistory } from './queue-history.ts'

/** Returns the open forms of each possible state 20 s after these forms were queued and offered, and 5 s after they expired. */
function possibleFormsOf(formIds: readonly string[]): readonly string[] {
  const history = createQueueHistory()
  for (const formId of formIds) history.foldForm(queued(0, { formId, expiresAt: at(0.25) }))
  history.pass(track(0))
  for (const { offers } of history.undelivered(track(0))) offers.push({ at: at(0), isConfirmed: false })
  const { possible } = history.at(track(1 / 3))
  return [
    ...new Set(possible.map(({ open }) => [...open.keys()].toSorted((one, other) => one.localeCompare(other)).join())),
  ].toSorted((one, other) => one.localeCompare(other))
}

describe('the possible states of a queue', () => {
  it('are all combinations of rows that have expired unless an offer keeps them', () => {
    expect(possibleFormsOf(['a', 'b'])).toEqual(['', 'a', 'a,b', 'b'])
  })

  it('are all or none of many such rows', () => {
    expect(possibleFormsOf(['a', 'b', 'c', 'd', 'e'])).toEqual(['', 'a,b,c,d,e'])
  })
})
