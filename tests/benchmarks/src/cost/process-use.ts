import { readdir, readFile } from 'node:fs/promises'

/** What a process and everything that it started have used. */
export interface ProcessUse {
  /** User and system time since the start, children that ended included. */
  readonly cpuSeconds: number
  /** Resident memory of the process itself, without its children. */
  readonly residentBytes: number
}

interface ProcessRow {
  readonly pid: number
  readonly parent: number
  readonly cpuSeconds: number
  readonly residentBytes: number
}

/** Linux counts CPU time in hundredths of a second, and memory in pages. */
const TICKS_PER_SECOND = 100
const PAGE_BYTES = 4_096

/** The use of each named process. Needs Linux: it reads /proc. */
export async function readProcessUse(
  processes: ReadonlyMap<string, { readonly pid: number }>,
): Promise<ReadonlyMap<string, ProcessUse>> {
  const stats = await Promise.all((await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(readStat))
  const rows = stats.filter((text) => text !== undefined).map(parseProcessStat)
  return new Map([...processes].map(([name, { pid }]) => [name, useOf(pid, rows)]))
}

/** Sums the CPU time of the process and of all its descendants: Postgres works in its children. */
export function useOf(pid: number, rows: readonly ProcessRow[]): ProcessUse {
  const family = rows.filter((row) => row.pid === pid)
  const residentBytes = family[0]?.residentBytes ?? 0
  for (let at = 0; at < family.length; at += 1) family.push(...rows.filter(({ parent }) => parent === family[at]?.pid))
  return { cpuSeconds: sum(family.map(({ cpuSeconds }) => cpuSeconds)), residentBytes }
}

/** A line of /proc/PID/stat, in the order of proc(5). The name in it may contain any character. */
export function parseProcessStat(line: string): ProcessRow {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const field = (number: number): number => Number(fields[number - 3])
  return {
    pid: Number.parseInt(line, 10),
    parent: field(4),
    // User and system time: its own, then that of its ended children.
    cpuSeconds: sum([14, 15, 16, 17].map(field)) / TICKS_PER_SECOND,
    residentBytes: field(24) * PAGE_BYTES,
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** CPU seconds that all processes of the machine have used since its start, and what its host took from it. */
export async function readMachineCpuSeconds(): Promise<number> {
  return parseMachineStat(await readFile('/proc/stat', 'utf8'))
}

/** The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. Guests count as user. */
export function parseMachineStat(text: string): number {
  const [user, nice, system, , , irq, softirq, steal] = text.split('\n', 1).join('').split(/\s+/).slice(1).map(Number)
  return sum([user, nice, system, irq, softirq, steal].map((ticks) => ticks ?? 0)) / TICKS_PER_SECOND
}

/** Undefined if the process has ended. */
async function readStat(pid: string): Promise<string | undefined> {
  return readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
}
