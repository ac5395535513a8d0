import { readFile } from 'node:fs/promises'
import path from 'node:path'
import {
  type ExportedMetrics,
  missingIn,
  readDashboards,
  readExposition,
  readRules,
  type UsedQuery,
} from '@nextvisit/monitoring'
import { consumers } from '@nextvisit/services'
import { beforeAll, describe, expect, it } from 'vitest'
import { product } from './product.ts'

const REFERENCE = path.resolve(import.meta.dirname, '../../../docs/reference/metrics.md')
/** Metrics that Node and Prometheus' client add. */
const OF_THE_PROCESS = /^(?:process|nodejs)_/

/** Compares the metrics of running services with the reference, the alert rules and the dashboards. */
export function describeMetrics(): void {
  describe('the metrics (metrics.md)', () => {
    let exported: ExportedMetrics
    /** Labels by metric, as the reference names them. */
    let documented: ReadonlyMap<string, ReadonlySet<string>>

    beforeAll(async () => {
      const services = ['gateway', ...consumers.map(({ name }) => name)]
      exported = readExposition(await Promise.all(services.map(scrape)))
      documented = namedIn(await readFile(REFERENCE, 'utf8'))
    })

    it('are in the reference, with their labels', () => {
      const own = [...exported.keys()].filter((name) => !OF_THE_PROCESS.test(name))
      expect(own.filter((name) => !documented.has(name))).toEqual([])
      const lacking = own.flatMap((name) =>
        [...(exported.get(name)?.labels ?? [])]
          .filter((label) => label !== 'service' && documented.get(name)?.has(label) === false)
          .map((label) => `${name}{${label}}`),
      )
      expect(lacking).toEqual([])
    })

    it('include those of the reference', () => {
      expect([...documented.keys()].filter((name) => !exported.has(name))).toEqual([])
    })

    it('include those of every alert rule and every panel, with their labels', () => {
      const { alerts, records } = readRules()
      const rules = alerts.map(({ alert, expr }): UsedQuery => ({ of: alert, query: expr }))
      const recorded = records.map(({ record, expr }): UsedQuery => ({ of: record, query: expr }))
      const panels = readDashboards().flatMap(({ queries }) => queries)
      const known = { exported, documented, recorded: new Set(records.map(({ record }) => record)) }
      expect([...rules, ...recorded, ...panels].flatMap((used) => missingIn(used, known))).toEqual([])
    })
  })
}

async function scrape(service: string): Promise<string> {
  return (await fetch(`${product().internalUrlOf(service)}/metrics`)).text()
}

/** Returns the metrics in the first column of tables: `name{label,label}`. */
function namedIn(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const cells = Array.from(text.matchAll(/^\| (`[^|]*) \|/gm), ([, cell = '']) => cell)
  const names = cells.flatMap((cell) => [...cell.matchAll(/`([a-z_]+)(?:\{([\w,]*)\})?`/g)])
  return new Map(names.map(([, name = '', labels = '']) => [name, new Set(labels.split(',').filter(Boolean))]))
}
