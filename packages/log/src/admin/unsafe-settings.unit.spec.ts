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

describe('unsafeSettings', () => {
  it('returns no setting of a topic with three replicas, two in sync, clean elections and unlimited retention', () => {
    expect(unsafeSettings([topic()])).toEqual([])
  })

  it.each([
    ['min.insync.replicas', '1'],
    ['unclean.leader.election.enable', 'true'],
    ['cleanup.policy', 'compact'],
    ['cleanup.policy', 'compact,delete'],
    ['retention.ms', '604800000'],
    ['retention.bytes', '1073741824'],
  ])('returns %s = %s', (setting, is) => {
    expect(unsafeSettings([topic({ [setting]: is })])).toMatchObject([{ topics: ['user-events'], setting, is }])
  })

  it('accepts compaction of the catalog', () => {
    const catalog = (is: string) => ({ ...topic({ 'cleanup.policy': is }), topic: 'catalog' })
    expect(unsafeSettings([topic(), catalog('compact')])).toEqual([])
    expect(unsafeSettings([topic(), catalog('compact,delete')])).toMatchObject([{ topics: ['catalog'] }])
  })

  it('returns user-keys without compaction, or with compaction at any time', () => {
    const keys = (change: Readonly<Record<string, string>>) => ({
      ...topic({ 'cleanup.policy': 'compact', 'max.compaction.lag.ms': '21600000', ...change }),
      topic: 'user-keys',
    })
    expect(unsafeSettings([topic(), keys({})])).toEqual([])
    for (const [setting, is] of [
      ['cleanup.policy', 'delete'],
      ['cleanup.policy', 'compact,delete'],
      ['max.compaction.lag.ms', '9223372036854775807'],
    ] as const)
      expect(unsafeSettings([topic(), keys({ [setting]: is })])).toMatchObject([{ topics: ['user-keys'], setting, is }])
  })

  it('returns a setting once for all topics with the same value', () => {
    const others = ['form-events', 'catalog'].map((name) => ({ ...topic({ 'retention.ms': '1' }), topic: name }))
    expect(unsafeSettings([topic(), ...others])).toMatchObject([{ topics: ['form-events', 'catalog'] }])
  })

  it('returns too low a replication factor', () => {
    expect(unsafeSettings([topic({}, 2)])).toMatchObject([{ setting: 'replication.factor', is: '2' }])
  })
})
