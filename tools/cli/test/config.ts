/** Runs the work with only the variables of `env`. Calls must not overlap. */
export async function withEnvironment<T>(env: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
  const given = process.env
  process.env = { ...env }
  try {
    return await work()
  } finally {
    process.env = given
  }
}
