import { expect, it } from 'vitest'
import { auditHistory } from '../test/audit-history.ts'
import { at, nps, revision, track } from '../test/form-records.ts'
import { countName } from './count-names.ts'
import type { EventTracked } from './facts.ts'
import type { FormInFile } from './workspace-file.ts'

const where = { property: 'total', atLeast: 100 }
const name = countName({ event: 'searched', where })
const hash = name.slice('searched#'.length)
const asking = nps({ enabled: false, triggers: [{ event: 'Searched', count: 50, where }] })
const large = { properties: { total: 100 } }

/** Returns the findings. `revisions`: forms of the project, from a minute on. */
async function findingsIn(
  special: Partial<EventTracked>,
  revisions: readonly (readonly [number, readonly FormInFile[]])[] = [[-10, [asking]]],
) {
  const catalog = revisions.map(([minute, forms], index) => revision(index + 1, minute, forms))
  const { findings } = await auditHistory({ catalog, records: [track(0, special)], forms: [] })
  return findings.flatMap(({ kind, examples }) => examples.map(({ says }) => `${kind}: ${says}`))
}

it('the model of counts finds nothing if the counts of a record match its properties', async () => {
  expect(await findingsIn({ ...large, countsFor: [hash] })).toEqual([])
  expect(await findingsIn({ properties: { total: 1 } })).toEqual([])
  expect(await findingsIn({})).toEqual([])
})

it('the model of counts finds counts that do not hold, are missing, or are unused', async () => {
  expect(await findingsIn({ properties: { total: 1 }, countsFor: [hash] })).toEqual([
    `user-events: countsFor: has ${name}, which does not hold`,
  ])
  expect(await findingsIn(large)).toEqual([`user-events: countsFor: lacks ${name}, which holds`])
  expect(await findingsIn({ countsFor: ['0123456789abcdef'] })).toEqual([
    'user-events: countsFor: has searched#0123456789abcdef, which no revision uses',
  ])
})

it('the model of counts accepts any counts while the project starts or stops using them, and in an import', async () => {
  expect(await findingsIn(large, [[-0.5, [asking]]])).toEqual([])
  expect(
    await findingsIn(large, [
      [-10, [asking]],
      [-0.5, []],
    ]),
  ).toEqual([])
  expect(
    await findingsIn({ ...large, countsFor: [hash] }, [
      [-10, [asking]],
      [-5, []],
    ]),
  ).toEqual([])
  expect(await findingsIn({ ...large, imported: true })).toEqual([])
})

it('the model of counts accepts counts of a compacted revision', async () => {
  const catalog = [revision(3, -10, [])]
  const records = [track(0, { countsFor: [hash], received: at(0) })]
  expect((await auditHistory({ catalog, records, forms: [] })).findings).toEqual([])
})
