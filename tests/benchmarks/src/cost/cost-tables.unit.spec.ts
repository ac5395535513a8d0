import { expect, it } from 'vitest'
import { type CostFigures, mergeFigures } from './cost-figures.ts'
import { costTables } from './cost-tables.ts'

const atHundred = {
  workMs: 100,
  perSecond: 100,
  foldedPerSecond: 90,
  cpuMs: { postgres: 8, gateway: 2 },
  generatorMs: 0.2,
  otherCores: 0,
  transactions: 6.5,
  p50Ms: 10,
  p99Ms: 45,
  lagRecords: 1_234,
  failed: 0,
  late: 3,
}
const kept: CostFigures = {
  measuredAt: '2026-11-22',
  workMs: 100,
  idleCores: { postgres: 0.2, gateway: 0.2 },
  loads: { events: { 100: atHundred, flat: atHundred }, visits: { 100: atHundred } },
  memory: { records: 200_000, residentMb: { gateway: 300 } },
}
const measured: CostFigures = {
  measuredAt: '2026-11-23',
  workMs: 150,
  idleCores: { postgres: 0.05, gateway: 0.05 },
  loads: { events: { 100: { ...atHundred, workMs: 120, cpuMs: { postgres: 1, gateway: 1.5 } } } },
}

it('the cost tables show each figure with its ratio to the kept one', () => {
  const shown = costTables(measured, kept)
  expect(shown).toContain('A fixed piece of work at the beginning took 1.50 times the CPU time of that run.')
  expect(shown).toContain('| all | 0.10 (0.25×) |')
  expect(shown).toContain('| **CPU ms per event** | 2.50 (0.25×) |')
  expect(shown).toContain('| postgres | 1.00 (0.13×) |')
  expect(shown).toContain('| (CPU ms of a fixed piece of work) | 120 (1.20×) |')
  expect(shown).toContain('| lag at the end, records | 1,234 |')
  expect(shown).not.toContain('visits')
})

it('the cost tables show figures without kept ones', () => {
  const shown = costTables(kept, undefined)
  expect(shown).toContain('| **CPU ms per event** | 10.0 | 10.0 |')
  expect(shown).toContain(
    'Resident memory after 200,000 records:\n\n| process | MB |\n| --- | --- |\n| gateway | 300 |',
  )
})

it('the cost tables keep figures that were not measured', () => {
  const merged = mergeFigures(kept, measured)
  expect(merged.loads['events']).toEqual({ 100: measured.loads['events']?.['100'], flat: atHundred })
  expect(merged).toMatchObject({ measuredAt: '2026-11-23', memory: kept.memory, loads: { visits: { 100: atHundred } } })
})
