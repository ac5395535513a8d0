/** Whether there is a process by this id. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // Somebody else's process runs all the same.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
