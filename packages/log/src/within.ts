/** Settles like `promise`, or rejects with `overdue()` after `withinMs`. `promise` itself continues. */
export async function within<T>(withinMs: number, promise: Promise<T>, overdue: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(overdue()), withinMs)
  })
  try {
    return await Promise.race([promise, deadline])
  } finally {
    clearTimeout(timer)
  }
}
