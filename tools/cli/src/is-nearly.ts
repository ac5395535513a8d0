/** Returns whether names are equal except for spelling (`user_name`), or for one or two typos if the name is long enough. */
export function isNearly(name: string, known: string): boolean {
  const [one, other] = [plain(name), plain(known)]
  return areWithin(other.length >= 8 ? 2 : 1, one, other)
}

/** Removes capitals, digits and punctuation. */
export function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '')
}

/** Returns whether at most this many insertions, deletions, replacements or swaps of neighbours make the two equal. */
function areWithin(slips: number, one: string, other: string): boolean {
  if (slips < 0) return false
  if (one === '' || other === '') return one.length + other.length <= slips
  const [rest, otherRest] = [one.slice(1), other.slice(1)]
  if (one[0] === other[0]) return areWithin(slips, rest, otherRest)
  const isSwapped = one[0] === other[1] && one[1] === other[0]
  return (
    areWithin(slips - 1, rest, other) ||
    areWithin(slips - 1, one, otherRest) ||
    areWithin(slips - 1, rest, otherRest) ||
    (isSwapped && areWithin(slips - 1, one.slice(2), other.slice(2)))
  )
}
