import type { CatalogView } from '@nextvisit/catalog'
import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { identifyRequested, organizationConfig } from '@nextvisit/contracts/fixtures'
import { batchOf, countRowsRead, factsAsRecords, interceptCommits, storeTestKeys } from '@nextvisit/testing'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { givenProjector, type WrittenSegment } from '../test/given-projector.ts'

const NOW = '2026-11-02T10:00:00.000Z'
const ORGANIZATIONS = Array.from({ length: 2_000 }, (_, nth) => `org-${nth}`)
/** One for each set of segments that its users were computed with, dead versions of them included. */
const ROWS_OF_AN_ORGANIZATION = 4
/** By a tick that computes its users again. */
const TIMES_READ = 8
const paying = { id: 'paying', where: { trait: 'plan', is: 'pro' } }
const free = { id: 'free', where: { trait: 'plan', is: 'free' } }

let given: Awaited<ReturnType<typeof givenProjector>>
beforeAll(async () => {
  given = await givenProjector(inject('databaseUrl'), { maxConnections: 1 })
})
afterAll(() => given?.stop())

function shopsWith(segment: WrittenSegment): CatalogView {
  const projects = [{ id: 'shop', segments: [segment as never] }]
  return staticCatalog(ORGANIZATIONS.map((id) => organizationConfig({ id, projects })))
}

/** A catalog in which each organization has a shop with one segment, and which changes one organization at a time. */
function givenCatalog() {
  const listeners: ((organization: string) => void)[] = []
  const before = shopsWith(paying)
  const after = shopsWith(free)
  const changed = new Set<string>()
  const of = (organization: string) => (changed.has(organization) ? after : before)
  const catalog: CatalogView = {
    ...before,
    project: (organization, project) => of(organization).project(organization, project),
    revision: (organization) => (changed.has(organization) ? 2 : 1),
    onChange: (listener) => void listeners.push(listener),
  }
  const change = (organization: string) => {
    changed.add(organization)
    for (const listener of listeners) listener(organization)
  }
  return { catalog, change }
}

describe("the comparison of users with the catalog's segments (design.md, Ticks)", () => {
  it('reads a partition once, then only the organizations that changed, and so does their tick', async () => {
    const { catalog, change } = givenCatalog()
    const turn = { catalog }
    await given.fold(turn, ...ORGANIZATIONS.map((organization) => identifyRequested({ organization, received: NOW })))
    const look = (expected: boolean) =>
      countRowsRead(given.prisma, ['segment_progress'], async () => {
        expect(await given.isDue(turn, NOW)).toBe(expected)
      })
    const tick = (expected: boolean) =>
      countRowsRead([given.prisma, given.db], ['segment_progress', 'segment_counts'], async () => {
        expect(await given.tick(turn, NOW)).toBe(expected)
      })

    expect(await tick(false)).toBe(ORGANIZATIONS.length)
    expect(await look(false)).toBe(0)
    change('org-7')
    expect(await look(true), 'before the tick').toBe(0)
    expect(await tick(true)).toBeLessThanOrEqual(TIMES_READ * ROWS_OF_AN_ORGANIZATION)
    expect(await given.prisma.segmentProgress.count({ where: { users: 0 } })).toBe(0)
    expect(await look(false)).toBeLessThanOrEqual(ROWS_OF_AN_ORGANIZATION)
    expect(await look(false)).toBe(0)
  })

  it('finds a new user whose batch had loaded the previous segments', async () => {
    const { catalog, change } = givenCatalog()
    const turn = { catalog }
    await given.clear()
    await given.settle(turn, NOW)
    let isOnItsWay = true
    const db = interceptCommits(given.db, async (commit) => {
      if (isOnItsWay) {
        isOnItsWay = false
        change('org-7')
        // A round of ticks waits for no batch. Its tick does.
        await given.isDue(turn, NOW)
      }
      await commit()
    })
    const fold = await given.openFold({ ...turn, db })
    const fact = identifyRequested({ organization: 'org-7', received: NOW, operations: { set: { plan: 'pro' } } })
    await storeTestKeys(given.db, [fact])
    await fold.fold(batchOf(factsAsRecords([fact], { partition: 0 })))
    expect(await readMembers()).toEqual(['paying'])
    await given.settle(turn, NOW)
    expect(await readMembers()).toEqual([])
    expect(await given.isDue(turn, NOW)).toBe(false)
  })
})

async function readMembers(): Promise<readonly string[]> {
  return (await given.prisma.segmentMember.findMany()).map(({ segmentId }) => segmentId)
}
