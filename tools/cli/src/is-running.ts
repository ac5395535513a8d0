/** Whether a process with this id runs. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // No permission: the process of another user runs.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
