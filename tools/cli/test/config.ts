/** Does the work where the environment holds nothing but `env`. One at a time. */
export async function withEnvironment<T>(env: Readonly<Record<string, string>>, work: () => Promise<T>): Promise<T> {
  const given = process.env
  process.env = { ...env }
  try {
    return await work()
  } finally {
    process.env = given
  }
}
