import { describe, expect, it } from 'vitest'
import { type TopicState, unsafeSettings } from './unsafe-settings.ts'

const safe = {
  'min.insync.replicas': '2',
  'unclean.leader.election.enable': 'false',
  'cleanup.policy': 'delete',
  'retention.ms': '-1',
  'retention.bytes': '-1',
}

function topic(change: Readonly<Record<string, string>> = {}, replicas = 3): TopicState {
  return { topic: 'user-events', replicas, config: new Map(Object.entries({ ...safe, ...change })) }
}

describe('what could lose acknowledged records', () => {
  it('is nothing with three copies, two of them in sync, clean elections, and facts kept for ever', () => {
    expect(unsafeSettings([topic()])).toEqual([])
  })

  it.each([
    ['min.insync.replicas', '1'],
    ['unclean.leader.election.enable', 'true'],
    ['cleanup.policy', 'compact'],
    ['cleanup.policy', 'compact,delete'],
    ['retention.ms', '604800000'],
    ['retention.bytes', '1073741824'],
  ])('names %s = %s', (setting, is) => {
    expect(unsafeSettings([topic({ [setting]: is })])).toMatchObject([{ topics: ['user-events'], setting, is }])
  })

  it('is not that the catalog is compacted', () => {
    const catalog = (is: string) => ({ ...topic({ 'cleanup.policy': is }), topic: 'catalog' })
    expect(unsafeSettings([topic(), catalog('compact')])).toEqual([])
    expect(unsafeSettings([topic(), catalog('compact,delete')])).toMatchObject([{ topics: ['catalog'] }])
  })

  it('names a setting once for all topics that have it so', () => {
    const others = ['form-events', 'catalog'].map((name) => ({ ...topic({ 'retention.ms': '1' }), topic: name }))
    expect(unsafeSettings([topic(), ...others])).toMatchObject([{ topics: ['form-events', 'catalog'] }])
  })

  it('names too few copies', () => {
    expect(unsafeSettings([topic({}, 2)])).toMatchObject([{ setting: 'replication.factor', is: '2' }])
  })
})
