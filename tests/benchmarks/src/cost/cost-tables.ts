import type { CostFigures, LoadFigures } from './cost-figures.ts'

/** Formats the measured figures as tables, with ratios to the kept figures in brackets. */
export function costTables(measured: CostFigures, kept: CostFigures | undefined): string {
  const loads = Object.entries(measured.loads).map(([name, byRate]) => loadTable(name, byRate, kept?.loads[name]))
  const tables = [machineLine(measured, kept), idleTable(measured, kept), ...loads, memoryTable(measured, kept)]
  return tables.filter((text) => text !== undefined).join('\n\n')
}

function machineLine({ workMs }: CostFigures, kept: CostFigures | undefined): string {
  if (!kept) return 'There are no figures of a release yet; --save writes them.'
  const ratio = (workMs / kept.workMs).toFixed(2)
  return `In brackets: the ratio to the figures of ${kept.measuredAt}. A fixed piece of work at the beginning took ${ratio} times the CPU time of that run.`
}

function idleTable({ idleCores }: CostFigures, kept: CostFigures | undefined): string | undefined {
  if (!idleCores) return undefined
  const rows = withTotal(idleCores).map(([name, cores]) => [
    name,
    figure(cores, withTotal(kept?.idleCores ?? {}).find(([other]) => other === name)?.[1]),
  ])
  return `Idle, cores in use:\n\n${table(['process', 'cores'], rows)}`
}

function loadTable(
  name: string,
  byRate: Readonly<Record<string, LoadFigures>>,
  kept: Readonly<Record<string, LoadFigures>> | undefined,
): string {
  const measured = Object.entries(byRate)
  const row = (title: string, pick: (figures: LoadFigures) => number | undefined): string[] => [
    title,
    ...measured.map(([rate, figures]) => {
      const before = kept?.[rate]
      return figure(pick(figures), before && pick(before))
    }),
  ]
  const count = (title: string, pick: (figures: LoadFigures) => number): string[] => [
    title,
    ...measured.map(([, figures]) => pick(figures).toLocaleString('en-US')),
  ]
  const processes = Object.keys(measured[0]?.[1].cpuMs ?? {})
  const rows = [
    row('events per second', ({ perSecond }) => perSecond),
    row('folded per second', ({ foldedPerSecond }) => foldedPerSecond),
    row('**CPU ms per event**', ({ cpuMs }) => totalOf(cpuMs)),
    ...processes.map((process) => row(process, ({ cpuMs }) => cpuMs[process])),
    row('(load generator)', ({ generatorMs }) => generatorMs),
    row('(CPU ms of a fixed piece of work)', ({ workMs }) => workMs),
    row('(cores of other work)', ({ otherCores }) => otherCores),
    row('transactions per event', ({ transactions }) => transactions),
    row('p50 ms', ({ p50Ms }) => p50Ms),
    row('p99 ms', ({ p99Ms }) => p99Ms),
    count('lag at the end, records', ({ lagRecords }) => lagRecords),
    count('failed', ({ failed }) => failed),
    count('answered without the evaluator', ({ late }) => late),
  ]
  const rates = measured.map(([rate]) => (rate === 'flat' ? 'flat out' : `${rate}/s`))
  return `${name}:\n\n${table(['', ...rates], rows)}`
}

function memoryTable({ memory }: CostFigures, kept: CostFigures | undefined): string | undefined {
  if (!memory) return undefined
  const rows = Object.entries(memory.residentMb).map(([name, megabytes]) => [
    name,
    figure(megabytes, kept?.memory?.residentMb[name]),
  ])
  return `Resident memory after ${memory.records.toLocaleString('en-US')} records:\n\n${table(['process', 'MB'], rows)}`
}

function withTotal(byProcess: Readonly<Record<string, number>>): [string, number][] {
  return [['all', totalOf(byProcess)], ...Object.entries(byProcess)]
}

function totalOf(byProcess: Readonly<Record<string, number>>): number {
  return Object.values(byProcess).reduce((sum, value) => sum + value, 0)
}

/** Formats a figure, such as `19.1 (0.46×)`. */
function figure(value: number | undefined, kept: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return ''
  const digits = value < 10 ? 2 : value < 100 ? 1 : 0
  const shown = value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return kept ? `${shown} (${(value / kept).toFixed(2)}×)` : shown
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, headings.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
