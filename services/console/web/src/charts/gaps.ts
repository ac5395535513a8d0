/** The stretches in which a line has no value: the index before the first missing one, and the one after the last. Pages import it. */
export function gapsOf(values: readonly (number | null | undefined)[]): readonly (readonly [number, number])[] {
  const isMissing = (index: number) => values[index] === null || values[index] === undefined
  const begins = values.flatMap((_, index) =>
    isMissing(index) && (index === 0 || !isMissing(index - 1)) ? [index] : [],
  )
  return begins.map((begin) => {
    const length = values.slice(begin).findIndex((value) => value !== null && value !== undefined)
    const end = length < 0 ? values.length - 1 : begin + length
    return [Math.max(0, begin - 1), end]
  })
}
