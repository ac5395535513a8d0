import type { CatalogProject } from '@nextvisit/catalog'
import type { UsageAnswer } from '@nextvisit/contracts'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { answered, type ApiResult, refuse } from '../http/api-route.ts'
import { createReachedLimits } from './reached-limits.ts'

type Answer = ApiResult<UsageAnswer>

const NOW_MS = Date.UTC(2026, 10, 16)
const NO_ANSWER = refuse(503, 'no-answer', 'metering does not answer.')
const usageOf = (monthlyActiveUsers: number): Answer =>
  answered({ month: '2026-11', events: 5, monthlyActiveUsers, uniqueEvents: 0, uniqueTraits: 0 })

/** Creates projects `p0`, `p1`, … with a limit of ten users, and a metering with this answer for each. */
function givenProjects(count: number, answer: (project: string) => Answer | Promise<Answer>) {
  const projects = Array.from({ length: count }, (_, index) => {
    const project: Pick<CatalogProject, 'organization' | 'project' | 'plan'> = {
      organization: 'demo',
      project: `p${index}`,
      plan: { monthlyActiveUsers: 10 },
    }
    return project as CatalogProject
  })
  const reads: string[] = []
  const atOnce = { now: 0, most: 0 }
  const readReached = createReachedLimits({
    catalog: async () => ({ projects: () => projects }),
    metering: {
      readUsage: async ({ project, month }) => {
        reads.push(`${project} ${month}`)
        atOnce.most = Math.max(atOnce.most, (atOnce.now += 1))
        const usage = await answer(project)
        atOnce.now -= 1
        return usage
      },
    },
    nowMs: () => NOW_MS,
  })
  const read = async () => (await readReached()).map(({ project, line }) => `${project} ${line.name}`)
  return { read, reads, atOnce }
}

describe('the reached limits', () => {
  it('are read for this month only, for all projects concurrently', async () => {
    const { read, reads, atOnce } = givenProjects(3, async (project) => usageOf(project === 'p1' ? 10 : 9))
    expect(await read()).toEqual(['p1 monthlyActiveUsers'])
    expect(reads).toEqual(['p0 2026-11', 'p1 2026-11', 'p2 2026-11'])
    expect(atOnce.most).toBe(3)
  })

  it('are read again after a minute', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    onTestFinished(() => void vi.useRealTimers())
    let users = 9
    const { read, reads } = givenProjects(1, () => usageOf(users))
    expect(await read()).toEqual([])
    users = 10
    vi.advanceTimersByTime(59_999)
    expect([await read(), reads.length]).toEqual([[], 1])
    vi.advanceTimersByTime(1)
    expect([await read(), reads.length]).toEqual([['p0 monthlyActiveUsers'], 2])
  })

  it('include the other projects if one cannot be read', async () => {
    const { read } = givenProjects(3, (project) => (project === 'p1' ? NO_ANSWER : usageOf(10)))
    expect(await read()).toEqual(['p0 monthlyActiveUsers', 'p2 monthlyActiveUsers'])
  })

  it('are read for up to ten projects, and for none if there are more', async () => {
    const [ten, eleven] = [10, 11].map((count) => givenProjects(count, () => usageOf(10)))
    expect([(await ten?.read())?.length, ten?.reads.length]).toEqual([10, 10])
    expect([await eleven?.read(), eleven?.reads.length]).toEqual([[], 0])
  })

  it('do not wait for a slow metering', async () => {
    const { promise, resolve } = Promise.withResolvers<ApiResult<never>>()
    const { read } = givenProjects(1, () => promise)
    expect(await read()).toEqual([])
    resolve(NO_ANSWER)
  })
})
