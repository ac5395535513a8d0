/** Waits until a condition is true. Throws after `withinMs`. */
export async function until(isTrue: () => boolean | Promise<boolean>, withinMs = 30_000): Promise<void> {
  const giveUpAt = performance.now() + withinMs
  while (!(await isTrue())) {
    if (performance.now() > giveUpAt) throw new Error('It did not become true in time')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
