import { describe, expect, it } from 'vitest'
import { readExposition } from './exposition.ts'
import { missingIn, selectorsIn } from './queries.ts'

const exported = readExposition([
  [
    '# TYPE lag_seconds gauge',
    'lag_seconds{partition="1",service="metering"} 0.5',
    '# TYPE fold_seconds histogram',
    'fold_seconds_bucket{le="+Inf",service="metering"} 3',
    '# TYPE keys gauge',
  ].join('\n'),
])
const known = { exported, documented: new Map([['keys', new Set(['key'])]]), recorded: new Set(['nextvisit:down']) }
const missing = (query: string) => missingIn({ of: 'A', query }, known)

describe('missingIn', () => {
  it.each([
    'max by (service, instance) (lag_seconds{job="x", partition="1"}) > 10',
    'histogram_quantile(0.5, sum by (le, service) (rate(fold_seconds_bucket{service=~"a|b"}[5m])))',
    'max by (key) (keys) unless on (service) nextvisit:down',
    'count by (state) (label_replace(up == 0, "state", "$1", "job", "(.*)"))',
  ])('finds nothing in %s', (query) => {
    expect(missing(query)).toEqual([])
  })

  it.each([
    ['no_such_metric > 1', 'A: no_such_metric'],
    ['lag_seconds{topic="x"}', 'A: lag_seconds{topic}'],
    ['max by (topic) (lag_seconds)', 'A: topic'],
    ['lag_seconds unless on (topic) up', 'A: topic'],
    ['rate(fold_seconds_bucket{partition="1"}[5m])', 'A: fold_seconds_bucket{partition}'],
    ['keys{secret="x"}', 'A: keys{secret}'],
  ])('finds what does not exist in %s', (query, name) => {
    expect(missing(query)).toEqual([name])
  })
})

it('selectorsIn throws for what is no query', () => {
  expect(() => selectorsIn('sum by (a) (rate(b[5m])')).toThrow(SyntaxError)
})
