import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

interface ProcessInfo {
  readonly parent: number
  /** Start time in the system's own format. Together with the process id it is unique. */
  readonly startedAt: string
  readonly command: string
}

/** Returns the operating system's data about a process; undefined if there is none. */
export function processInfo(pid: number): ProcessInfo | undefined {
  try {
    return existsSync('/proc/self/stat') ? fromProc(pid) : fromPs(pid)
  } catch {
    return undefined
  }
}

/** Returns whether a process with this id runs. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // No permission: the process runs as another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function fromProc(pid: number): ProcessInfo {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ') // the name before it may contain any character
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
  return { parent: Number(fields[1]), startedAt: fields[19] ?? '', command }
}

function fromPs(pid: number): ProcessInfo | undefined {
  const line = execFileSync('ps', ['-o', 'ppid=', '-o', 'lstart=', '-o', 'command=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { LC_ALL: 'C' },
  })
  const match = /^\s*(\d+)\s+(.{24})\s+(.*)/.exec(line)
  return match ? { parent: Number(match[1]), startedAt: match[2] ?? '', command: match[3] ?? '' } : undefined
}
