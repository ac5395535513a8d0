/** Settles as `promise` does, or rejects with `overdue()` once `withinMs` have passed; `promise` itself goes on. */
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
