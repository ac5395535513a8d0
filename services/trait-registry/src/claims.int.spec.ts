import { staticCatalog } from '@nextvisit/catalog/test/static-catalog.ts'
import { evolveDraft } from '@nextvisit/consumer'
import type { Claim, UserFact } from '@nextvisit/contracts'
import { eventTracked, identifyRequested } from '@nextvisit/contracts/fixtures'
import { type CommitDb, createAdapter, openCommitDb, withClient } from '@nextvisit/database'
import { createTestDatabase, NO_PAST, type TestDatabase } from '@nextvisit/testing'
import * as fc from 'fast-check'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { PrismaClient } from '../generated/prisma/client.ts'
import { claimNames, releaseClaims } from './claims.ts'
import { traitRegistry } from './consumer.ts'
import { readDefinitions } from './queries.ts'
import { createProjection } from './projection.ts'

const NOW = new Date('2026-11-02T10:00:00.000Z')
const PARTITIONS = 3
const projection = createProjection({ countKeyPartitions: () => Promise.resolve(PARTITIONS) })
const catalog = staticCatalog([])

let database: TestDatabase
let prisma: PrismaClient
let db: CommitDb
beforeAll(async () => {
  database = await createTestDatabase(inject('databaseUrl'), traitRegistry)
  const adapter = createAdapter({ url: database.url, schema: 'registry', applicationName: 'spec', maxConnections: 8 })
  prisma = new PrismaClient({ adapter })
  db = openCommitDb({ url: database.url, schema: 'registry', applicationName: 'spec' })
})
afterAll(async () => {
  await db?.$disconnect()
  await prisma?.$disconnect()
  await database?.drop()
})

/** Each test has an organization of its own. */
function newPlace() {
  return { organization: `acme-${randomUUID().slice(0, 8)}`, project: 'shop' }
}
type Place = ReturnType<typeof newPlace>

function claim(place: Place, slugs: readonly string[], special: Partial<Claim> = {}): Claim {
  return {
    kind: 'event',
    ...place,
    recordId: randomUUID(),
    partition: 0,
    slugs: [...slugs],
    limit: 1_000,
    disabled: [],
    ...special,
  }
}

const ask = (claims: readonly Claim[], at = NOW) => claimNames(prisma, claims, at)
const later = (ms: number) => new Date(NOW.getTime() + ms)
const tracked = (place: Place, slug: string, special: object = {}) =>
  eventTracked({ ...place, eventName: slug, slug, ...special })

function statementsFor(facts: readonly UserFact[]) {
  const context = { catalog, mode: 'live', partition: 0 } as const
  const records = facts.map((fact) => ({ fact, topic: 'user-events', partition: 0, offset: 0n, timestampMs: 0 }))
  return projection.save(evolveDraft(projection, new Map(), records, context)).statements
}

async function fold(facts: readonly UserFact[]): Promise<void> {
  await db.executeAll(statementsFor(facts))
}

const dueOf = async (partitions: readonly number[], instant: Date) =>
  (await projection.ticks?.due(prisma, instant, { catalog, partitions })) ?? []

/** Ticks if a tick is due, like the core. */
async function tick(partition: number, instant: Date): Promise<void> {
  if (!(await dueOf([partition], instant)).includes(partition)) return
  const context = { catalog, mode: 'live', partition, nextOffset: 0n, ...NO_PAST } as const
  const writes = await projection.ticks?.tick(prisma, instant, context)
  await db.executeAll(writes?.statements ?? [])
}

async function tickAll(instant: Date): Promise<void> {
  for (let partition = 0; partition < PARTITIONS; partition += 1) await tick(partition, instant)
}

const claimedSlugs = async ({ organization }: Place) =>
  (await prisma.claim.findMany({ where: { organization }, orderBy: { slug: 'asc' } })).map(({ slug }) => slug)
const registeredSlugs = async ({ organization }: Place) =>
  (await prisma.definition.findMany({ where: { organization }, orderBy: { slug: 'asc' } })).map(({ slug }) => slug)

/** Runs `work` while another session holds the project's lock, as a slow claim of the same project would. */
async function whileLocked({ organization, project }: Place, work: () => Promise<void>): Promise<void> {
  await withClient(database.url, async (client) => {
    await client.query('BEGIN')
    await client.query('SELECT FROM registry.projects WHERE organization = $1 AND project = $2 FOR UPDATE', [
      organization,
      project,
    ])
    await work()
    await client.query('ROLLBACK')
  })
}

const release = (...claims: readonly Claim[]) =>
  releaseClaims(
    prisma,
    claims.map(({ organization, project, kind, recordId, slugs }) => ({
      organization,
      project,
      kind,
      recordId,
      slugs,
    })),
  )

describe('a claim (design.md, Trait registry)', () => {
  it('is new for one request, claimed for the others, and registered for later ones', async () => {
    const place = newPlace()
    expect(await ask([claim(place, ['signup']), claim(place, ['signup'])])).toEqual([['new'], ['claimed']])
    expect(await ask([claim(place, ['signup'])])).toEqual([['claimed']])
    await fold([tracked(place, 'signup')])
    expect(await ask([claim(place, ['signup'])])).toEqual([['registered']])
    expect(await claimedSlugs(place)).toEqual([])
  })

  it('is separate for traits and events, and for projects', async () => {
    const place = newPlace()
    const asked = [
      claim(place, ['plan']),
      claim(place, ['plan'], { kind: 'trait' }),
      claim({ ...place, project: 'blog' }, ['plan']),
    ]
    expect(await ask(asked)).toEqual([['new'], ['new'], ['new']])
  })

  it('admits new slugs in order while there is room', async () => {
    const place = newPlace()
    await fold([identifyRequested({ ...place, operations: { set: { plan: 'pro' } } })])
    const verdicts = await ask([
      claim(place, ['a', 'plan', 'b', 'c'], { kind: 'trait', limit: 3 }),
      claim(place, ['c', 'a'], { kind: 'trait', limit: 3 }),
      claim(place, ['d'], { kind: 'trait' }),
    ])
    expect(verdicts).toEqual([['new', 'registered', 'new', 'no-room'], ['no-room', 'claimed'], ['new']])
    expect(await claimedSlugs(place)).toEqual(['a', 'b', 'd'])
  })

  it('does not count disabled slugs toward the cap', async () => {
    const place = newPlace()
    await fold([identifyRequested({ ...place, operations: { set: { plan: 'pro', internal_note: 'x' } } })])
    const asked = claim(place, ['a', 'b'], { kind: 'trait', limit: 2, disabled: ['internal_note'] })
    expect(await ask([asked])).toEqual([['new', 'no-room']])
  })

  it('answers in a dry run as it would otherwise, and takes no name', async () => {
    const place = newPlace()
    await fold([tracked(place, 'known')])
    await fold([identifyRequested({ ...place, operations: { set: { plan: 'pro' } } })])
    await ask([claim(place, ['claimed'])])
    const look = (limit: number, ...slugs: string[]) => claim(place, slugs, { limit, dryRun: true })
    expect(await ask([look(0, 'known', 'claimed'), look(2, 'fresh'), look(3, 'fresh'), look(0, 'plan')])).toEqual([
      ['registered', 'claimed'],
      ['no-room'],
      ['room'],
      ['no-room'],
    ])
    expect(await ask([claim(newPlace(), ['known'], { limit: 1, dryRun: true })])).toEqual([['room']])
    expect(await claimedSlugs(place)).toEqual(['claimed'])
  })

  it('has the same verdict when the record asks again', async () => {
    const place = newPlace()
    const asked = claim(place, ['a', 'b'], { limit: 1 })
    expect(await ask([asked])).toEqual([['new', 'no-room']])
    expect(await ask([asked, asked])).toEqual([
      ['new', 'no-room'],
      ['new', 'no-room'],
    ])
  })

  it('treats slugs such as __proto__ like any other', async () => {
    const place = newPlace()
    const slugs = ['__proto__', 'constructor', '{a,"b\\', "o'brien", 'null', '']
    expect(await ask([claim(place, slugs)])).toEqual([slugs.map(() => 'new')])
    await fold(slugs.map((slug) => tracked(place, slug)))
    expect(await ask([claim(place, slugs)])).toEqual([slugs.map(() => 'registered')])
  })
})

describe('a claim of registered or refused names', () => {
  it('does not wait for the project: registered names, a cap that is reached, and dry runs', async () => {
    const place = newPlace()
    await ask([claim(place, ['a', 'b'])])
    await fold([tracked(place, 'a'), tracked(place, 'b')])
    await whileLocked(place, async () => {
      expect(await ask([claim(place, ['b', 'c', 'a', 'd'], { limit: 2 })])).toEqual([
        ['registered', 'no-room', 'registered', 'no-room'],
      ])
      expect(await ask([claim(place, ['c'], { dryRun: true })])).toEqual([['room']])
      await expect(ask([claim(place, ['c'])])).rejects.toThrow('lock timeout')
    })
    expect(await ask([claim(place, ['c'])])).toEqual([['new']])
  })

  it('takes no room from questions with another cap when it is refused', async () => {
    const place = newPlace()
    const asked = [
      claim(place, ['a', 'b'], { limit: 0 }),
      claim(place, ['c', 'a', 'd'], { limit: 2 }),
      claim(place, ['e', 'f'], { limit: 4 }),
      claim(place, ['g'], { limit: 3 }),
      claim(place, ['f', 'g'], { limit: 5 }),
    ]
    expect(await ask(asked)).toEqual([
      ['no-room', 'no-room'],
      ['new', 'new', 'no-room'],
      ['new', 'new'],
      ['no-room'],
      ['claimed', 'new'],
    ])
  })
})

describe('a released claim', () => {
  it('frees its names at once: the next request gets `new`', async () => {
    const place = newPlace()
    const refused = claim(place, ['a', 'b'], { limit: 2 })
    await ask([refused])
    expect(await ask([claim(place, ['c'], { limit: 2 })])).toEqual([['no-room']])
    await release(refused, claim(place, ['nobody’s']))
    expect(await claimedSlugs(place)).toEqual([])
    expect(await ask([claim(place, ['c', 'a'], { limit: 2 })])).toEqual([['new', 'new']])
  })

  it('stays while another record depends on it, and ends with the last', async () => {
    const place = newPlace()
    const [first, second] = [claim(place, ['a']), claim(place, ['a'])]
    expect(await ask([first, second])).toEqual([['new'], ['claimed']])
    await release(first)
    expect(await claimedSlugs(place)).toEqual(['a'])
    await release(second)
    expect(await claimedSlugs(place)).toEqual([])
  })

  it('stays if the same record asked twice, because its first publish may be in the log', async () => {
    const place = newPlace()
    const repeated = claim(place, ['a'])
    await ask([repeated])
    await ask([repeated])
    await release(repeated)
    expect(await claimedSlugs(place)).toEqual(['a'])
  })

  it('stays if more records depend on it than are listed', async () => {
    const place = newPlace()
    const claims = Array.from({ length: 40 }, () => claim(place, ['a']))
    for (const one of claims) await ask([one])
    await release(...claims)
    expect(await claimedSlugs(place)).toEqual(['a'])
  })

  it('leaves registered names unchanged', async () => {
    const place = newPlace()
    const asked = claim(place, ['a'])
    await ask([asked])
    await fold([tracked(place, 'a')])
    await release(asked)
    expect(await registeredSlugs(place)).toEqual(['a'])
  })
})

describe('a claim that no record uses', () => {
  it('is dropped once every partition is folded past 60 s, and not earlier', async () => {
    const place = newPlace()
    await ask([claim(place, ['ghost'])])
    await tickAll(later(59_999))
    expect(await claimedSlugs(place)).toEqual(['ghost'])
    await tick(1, later(60_000))
    await tick(0, later(61_000))
    expect(await claimedSlugs(place)).toEqual(['ghost'])
    await tick(2, later(60_000))
    expect(await claimedSlugs(place)).toEqual(['ghost'])
    await tick(0, later(62_000))
    expect(await claimedSlugs(place)).toEqual([])
    expect(await ask([claim(place, ['ghost'])])).toEqual([['new']])
  })

  it('is due in every partition once a claim is a minute old, and in none before', async () => {
    await ask([claim(newPlace(), ['ghost'], { partition: 1 })], later(-3_600_000))
    expect(await dueOf([0, 2], later(-3_540_001))).toEqual([])
    expect(await dueOf([0, 2], later(-3_540_000))).toEqual([0, 2])
    await tickAll(later(-3_540_000))
    await tickAll(later(-3_540_000))
    expect(await dueOf([0, 2], later(-3_540_000))).toEqual([])
  })

  it('stays while one partition is behind the others', async () => {
    const place = newPlace()
    await tickAll(later(70_000))
    await ask([claim(place, ['ghost'])], later(20_000))
    await tick(1, later(80_000))
    await tick(0, later(90_000))
    expect(await claimedSlugs(place)).toEqual(['ghost'])
    await tick(2, later(80_000))
    await tick(0, later(90_000))
    expect(await claimedSlugs(place)).toEqual([])
  })

  it('stays while other records depend on it', async () => {
    const place = newPlace()
    await ask([claim(place, ['busy'])], later(100_000))
    expect(await ask([claim(place, ['busy'], { partition: 2 })], later(150_000))).toEqual([['claimed']])
    await tickAll(later(209_999))
    await tickAll(later(209_999))
    expect(await claimedSlugs(place)).toEqual(['busy'])
    await fold([tracked(place, 'busy')])
    expect(await claimedSlugs(place)).toEqual([])
  })
})

describe('an imported name (decisions.md, Import)', () => {
  it('is registered without a claim, and takes room under the cap like any other', async () => {
    const place = newPlace()
    await fold([
      tracked(place, 'signed_up', { imported: true }),
      identifyRequested({ ...place, imported: true, operations: { set: { plan: 'pro' } } }),
    ])
    expect(await ask([claim(place, ['signed_up', 'another'], { limit: 1 })])).toEqual([['registered', 'no-room']])
    expect(await ask([claim(place, ['plan'], { kind: 'trait' })])).toEqual([['registered']])
  })
})

describe('a claim under concurrency', () => {
  it('is granted to exactly K of N parallel new names at a cap with room for K, and is new once a name', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 0, max: 10 }), async (registered, room) => {
        const place = newPlace()
        await fold(Array.from({ length: registered }, (_, index) => tracked(place, `old-${index}`)))
        const limit = registered + room
        const asks = Array.from({ length: 24 }, (_, index) => claim(place, [`name-${index % 12}`], { limit }))
        const verdicts = (await Promise.all(asks.map((asked) => ask([asked])))).flat(2)
        expect(verdicts.filter((verdict) => verdict === 'new')).toHaveLength(room)
        expect(await claimedSlugs(place)).toHaveLength(room)
      }),
      { numRuns: 10 },
    )
  })

  it('stays exact and never deadlocks between claims, folds and ticks, in any order of names', async () => {
    const names = Array.from({ length: 8 }, (_, index) => `name-${index}`)
    const inAnyOrder = fc.asyncProperty(fc.gen(), async (gen) => {
      const shuffled = <T>(items: readonly T[]) => gen(fc.shuffledSubarray<T>, [...items], { minLength: items.length })
      const places = [newPlace(), newPlace()] as const
      const ghosts = () => shuffled(places).map((place) => claim(place, shuffled(names), { kind: 'trait' }))
      await ask(ghosts())
      const heardNew: string[] = []
      const live = async () => {
        const asked = shuffled(places).map((place) => claim(place, shuffled(names), { limit: 5 }))
        const verdicts = await ask(asked, later(900_000))
        const ridden = asked.map(({ slugs, organization, project }, index) => {
          const own = slugs.map((slug, position) => ({ slug, verdict: verdicts[index]?.[position] }))
          heardNew.push(...own.filter(({ verdict }) => verdict === 'new').map(({ slug }) => `${organization}/${slug}`))
          const passed = own.filter(({ verdict }) => verdict !== 'no-room')
          return passed.map(({ slug }) => tracked({ organization, project }, slug))
        })
        await fold(shuffled(ridden.flat()))
      }
      const claimGhostsAgain = () => ask(ghosts(), later(900_000))
      const claimAndRelease = async () => {
        const asked = shuffled(places).map((place) => claim(place, shuffled(names), { kind: 'trait' }))
        await ask(asked, later(900_000))
        await releaseClaims(prisma, asked)
      }
      await Promise.all([live(), tickAll(later(300_000)), live(), claimGhostsAgain(), live(), tickAll(later(300_000))])
      await Promise.all([claimGhostsAgain(), claimAndRelease(), tickAll(later(300_000)), claimAndRelease()])
      expect(new Set(heardNew).size).toBe(heardNew.length)
      for (const place of places) {
        expect(await registeredSlugs(place)).toHaveLength(5)
        expect(await claimedSlugs(place)).toEqual(names)
      }
    })
    await fc.assert(inAnyOrder, { numRuns: 20 })
  })

  it('counts a name once that is folded without a claim while another request claims it', async () => {
    const place = newPlace()
    await ask([claim(place, ['a'], { limit: 2 })])
    const [register] = statementsFor([tracked(place, 'a')])
    if (register) await prisma.$executeRaw(register)
    expect(await ask([claim(place, ['a', 'b', 'c'], { limit: 2 })])).toEqual([['registered', 'new', 'no-room']])
  })
})

describe('a definition', () => {
  it('is named by the earliest record by (received, id), and counts every record', async () => {
    const place = newPlace()
    const at = (eventName: string, received: string, id: string = randomUUID()) =>
      eventTracked({ ...place, eventName, slug: 'signed_up', received, id })
    const low = '00000000-0000-4000-8000-000000000000'
    await fold([at('Signed Up', '2026-11-02T12:00:00.000Z')])
    await fold([at('signed up', '2026-11-02T11:00:00.000Z'), at('SIGNED UP', '2026-11-02T11:00:00.000Z', low)])
    await fold([at('signed-up', '2026-11-02T13:00:00.000Z')])
    const page = await readDefinitions(prisma, { kind: 'event', ...place, limit: 10 })
    expect(page).toEqual({
      definitions: [
        {
          slug: 'signed_up',
          name: 'SIGNED UP',
          firstSeenAt: '2026-11-02T11:00:00.000Z',
          lastSeenAt: '2026-11-02T13:00:00.000Z',
          count: 4,
        },
      ],
      next: null,
    })
  })

  it('of a trait comes from every operator except unset, for custom slugs only', async () => {
    const place = newPlace()
    const operations = {
      set: { plan: 'pro', email: 'ada@example.com' },
      setOnce: { source: 'ad' },
      increment: { logins: 1 },
      decrement: { credit: 1 },
      unset: ['gone'],
    }
    await fold([identifyRequested({ ...place, operations, device: { $deviceOs: 'iOS' } })])
    expect(await registeredSlugs(place)).toEqual(['credit', 'logins', 'plan', 'source'])
  })

  it('is read in pages, by slug', async () => {
    const place = newPlace()
    await fold(['b', 'a', 'C', 'd'].map((slug) => tracked(place, slug)))
    const first = await readDefinitions(prisma, { kind: 'event', ...place, limit: 3 })
    expect(first.definitions.map(({ slug }) => slug)).toEqual(['C', 'a', 'b'])
    expect(first.next).toBe('b')
    const second = await readDefinitions(prisma, { kind: 'event', ...place, limit: 3, after: 'b' })
    expect(second).toMatchObject({ definitions: [{ slug: 'd' }], next: null })
  })

  it('is found by a prefix of its slug, with any characters', async () => {
    const place = newPlace()
    await fold(['a', 'a_1', 'a%', 'aé', 'a😀', 'A_1', 'b_1'].map((slug) => tracked(place, slug)))
    const find = async (prefix: string, after?: string) => {
      const page = await readDefinitions(prisma, { kind: 'event', ...place, limit: 3, prefix, ...(after && { after }) })
      return [...page.definitions.map(({ slug }) => slug), page.next]
    }
    expect(await find('a')).toEqual(['a', 'a%', 'a_1', 'a_1'])
    expect(await find('a', 'a_1')).toEqual(['aé', 'a😀', null])
    expect(await find('a_')).toEqual(['a_1', null])
    expect(await find('a%')).toEqual(['a%', null])
    expect(await find('c')).toEqual([null])
  })
})
