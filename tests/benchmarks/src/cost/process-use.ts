import { readdir, readFile } from 'node:fs/promises'

/** Resource use of a process and its descendants. */
interface ProcessUse {
  /** User and system time since the start, including ended children. */
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

/** Unit of CPU time in Linux. Memory is in pages. */
const TICKS_PER_SECOND = 100
const PAGE_BYTES = 4_096

/** Reads the use of each named process from Linux' /proc. */
export async function readProcessUse(
  processes: ReadonlyMap<string, { readonly pid: number }>,
): Promise<ReadonlyMap<string, ProcessUse>> {
  const stats = await Promise.all((await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(readStat))
  const rows = stats.filter((text) => text !== undefined).map(parseProcessStat)
  return new Map([...processes].map(([name, { pid }]) => [name, useOf(pid, rows)]))
}

/** Sums the CPU time of a process and all its descendants, because Postgres works in its children. */
export function useOf(pid: number, rows: readonly ProcessRow[]): ProcessUse {
  const family = rows.filter((row) => row.pid === pid)
  const residentBytes = family[0]?.residentBytes ?? 0
  for (let at = 0; at < family.length; at += 1) family.push(...rows.filter(({ parent }) => parent === family[at]?.pid))
  return { cpuSeconds: sum(family.map(({ cpuSeconds }) => cpuSeconds)), residentBytes }
}

/** Parses /proc/PID/stat, in the order of proc(5). The name in it may contain any character. */
export function parseProcessStat(line: string): ProcessRow {
  const fields = line.slice(line.lastIndexOf(')') + 2).split(' ')
  const field = (number: number): number => Number(fields[number - 3])
  return {
    pid: Number.parseInt(line, 10),
    parent: field(4),
    // User and system time of the process, then of its ended children.
    cpuSeconds: sum([14, 15, 16, 17].map(field)) / TICKS_PER_SECOND,
    residentBytes: field(24) * PAGE_BYTES,
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** Reads the CPU seconds of this process's ended children, which the kernel adds to their parent. */
export async function readEndedChildrenCpuSeconds(): Promise<number> {
  const { user, system } = process.cpuUsage()
  return parseProcessStat(await readFile('/proc/self/stat', 'utf8')).cpuSeconds - (user + system) / 1e6
}

/** Reads the CPU seconds of all processes since the machine's start, including time stolen by its host. */
export async function readMachineCpuSeconds(): Promise<number> {
  return parseMachineStat(await readFile('/proc/stat', 'utf8'))
}

/** Parses the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. Guests count as user. */
export function parseMachineStat(text: string): number {
  const [user, nice, system, , , irq, softirq, steal] = text.split('\n', 1).join('').split(/\s+/).slice(1).map(Number)
  return sum([user, nice, system, irq, softirq, steal].map((ticks) => ticks ?? 0)) / TICKS_PER_SECOND
}

/** Reads the stat of a process; undefined if it has ended. */
async function readStat(pid: string): Promise<string | undefined> {
  return readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
}
