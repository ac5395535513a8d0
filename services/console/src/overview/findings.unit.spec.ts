import { describe, expect, it } from 'vitest'
import { consumerReading, givenService, PARTITIONS, sampleOf } from '../../test/given-samples.ts'
import type { PartitionReading, ProcessReading } from '../metrics/read-process.ts'
import { findingsOf } from './findings.ts'

const gateway = () => givenService('gateway', [consumerReading({ partitions: new Map() })])

const findingsIn = (own: Partial<Parameters<typeof findingsOf>[0]>) =>
  findingsOf({
    services: [gateway()],
    samples: [],
    isWholeHour: true,
    recent: [],
    partitionCount: PARTITIONS,
    reached: [],
    erasures: [],
    endpoints: [],
    nowMs: 0,
    members: new Map(),
    ...own,
  })

/** Returns the findings about metering. */
function findings(processes: readonly (ProcessReading | undefined)[]): readonly string[] {
  return findingsIn({ services: [gateway(), givenService('metering', processes)] }).map(
    ({ severity, text, runbook }) => `${severity}: ${text} ${runbook ?? ''}`,
  )
}

function withPartition(own: Partial<PartitionReading>): ProcessReading {
  const reading = consumerReading()
  const [[, idle] = []] = reading.partitions
  if (!idle) throw new RangeError('There is a partition')
  return { ...reading, partitions: new Map([...reading.partitions, [1, { ...idle, ...own }]]) }
}

describe('findingsOf', () => {
  it('is empty while everything works', () => {
    expect(findings([consumerReading()])).toEqual([])
  })

  it('names a silent consumer, and the effect for callers', () => {
    expect(findings([undefined])).toEqual([
      'critical: metering does not answer: it is stopped or hangs. Limits are not enforced: requests are admitted unchecked. Start it, or kill the hanging process so that it restarts: metering-0. lag',
    ])
  })

  it('does not call a service stopped while another process of it answers', () => {
    expect(findings([undefined, consumerReading()])).toEqual([
      'warning: 1 of 2 processes of metering do not answer: metering-0. lag',
    ])
  })

  it.each([
    ['halted', { isHalted: true }, 'critical: metering is halted on partition 1: records there are not folded. halted'],
    ['stalled', { stalledSeconds: 61 }, 'critical: metering is stalled on partition 1: its attempts keep failing. lag'],
    [
      'without ticks',
      { ticksFailingSeconds: 61 },
      'warning: Ticks of metering fail on partition 1: nothing expires there. lag',
    ],
    ['late', { lagSeconds: 12, lagRecords: 40 }, 'warning: metering is 12 s behind the log: 40 records wait. lag'],
    ['very late', { lagSeconds: 90, lagRecords: 4 }, 'critical: metering is 90 s behind the log: 4 records wait. lag'],
  ])('names a partition that is %s', (_, own, expected) => {
    expect(findings([withPartition(own)])).toEqual([expected])
  })

  it('counts partitions without an owner', () => {
    expect(findings([consumerReading({ partitions: new Map() })])).toEqual([
      'warning: 2 of 2 partitions of metering have no owner among the answering processes. After a start this resolves within seconds. If it does not, METERING_URLS may lack the address of their owner. lag',
    ])
  })

  it.each<[number, string]>([
    [
      2,
      "1 of 2 partitions of metering belong to processes that the console does not know: 2 processes fold, but its METERING_URLS has one address. Add the others there, and in the gateways' METERING_URLS, or use a name that has all addresses (dns+http).",
    ],
    [
      1,
      '1 of 2 partitions of metering have no owner among the answering processes. After a start this resolves within seconds.',
    ],
  ])('names the cause if %d processes are in the group of a consumer with one address', (count, text) => {
    const half = consumerReading({ partitions: new Map([...consumerReading().partitions].slice(0, 1)) })
    const services = [gateway(), givenService('metering', [half])]
    expect(findingsIn({ services, members: new Map([['metering', count]]) })).toMatchObject([{ text }])
  })

  it('counts dead letters of a service once, however many processes report them', () => {
    const own = withPartition({})
    const idle = consumerReading({ partitions: new Map() })
    expect(
      findings([
        { ...own, deadLetters: 3 },
        { ...idle, deadLetters: 3 },
      ]),
    ).toEqual(['warning: There are dead letters (records that a consumer could not read): 3 of metering. dead-letters'])
  })

  it('reports dead letters of all consumers once, with a link to each: one bad record makes one in each', () => {
    const consumers = ['metering', 'trait-registry'].map((name) =>
      givenService(name, [consumerReading({ deadLetters: 1 })]),
    )
    expect(findingsIn({ services: [gateway(), ...consumers] })).toEqual([
      {
        severity: 'warning',
        asOf: null,
        text: 'There are dead letters (records that a consumer could not read): 1 of metering, 1 of trait-registry. One bad record can be a dead letter of each consumer.',
        runbook: 'dead-letters',
        links: [
          { screen: 'operations', consumer: 'metering' },
          { screen: 'operations', consumer: 'trait-registry' },
        ],
      },
    ])
  })

  it('lists failed requests before less urgent findings', () => {
    const recent = [sampleOf({ 'answer:202': 90, 'answer:503': 10, 'unchecked:mau': 2 })]
    expect(findingsIn({ recent }).map(({ text }) => text)).toEqual([
      '10 of 100 requests in the last five minutes got a 5xx answer. Callers must retry.',
      '2 checks were skipped in the last five minutes (mau), so limits were not enforced.',
    ])
  })

  it('names the key that a gateway lacks, and the runbook', () => {
    const gateways = [
      new Map([['1a2b', 2]]),
      new Map([
        ['1a2b', 1],
        ['damaged', 1],
      ]),
      new Map<string, number>(),
    ]
    const reading = givenService(
      'gateway',
      gateways.map((undecryptableSecrets) => consumerReading({ undecryptableSecrets })),
    )
    expect(findingsIn({ services: [reading] }).map(({ severity, text, runbook }) => [severity, text, runbook])).toEqual(
      [
        [
          'critical',
          'gateway cannot decrypt the signing secrets of 2 projects, so requests from their pages get 503. Some process lacks key 1a2b in NEXTVISIT_SECRET_KEY.',
          'rotate-secrets',
        ],
        [
          'critical',
          'gateway cannot decrypt the signing secrets of a project, so requests from their pages get 503. They are damaged: apply the workspace file again.',
          'rotate-secrets',
        ],
      ],
    )
  })

  it('names an open breaker, unless its service is reported as silent', () => {
    const open = givenService('gateway', [consumerReading({ openBreakers: ['kafka', 'metering (reads)'] })])
    const texts = findingsIn({ services: [open, givenService('metering', [undefined])] }).map(({ text }) => text)
    expect(texts).toContain('gateway has paused its calls to: kafka.')
  })
})
