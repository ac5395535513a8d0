/** Returns the names of this process's environment variables, sorted. */
export function variableNames(): readonly string[] {
  return Object.keys(process.env).toSorted()
}
