/** Returns the back-off in ms after consecutive failures: `firstMs`, doubled by each further failure, at most `longestMs`. */
export function backOffAfter(failures: number, firstMs: number, longestMs: number): number {
  return Math.min(firstMs * 2 ** (failures - 1), longestMs)
}
