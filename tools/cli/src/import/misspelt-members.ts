/** Top-level members of both kinds of line (decisions.md, Import). */
const MEMBERS = [
  'type',
  'id',
  'userName',
  'userAttributes',
  '$deviceInfo',
  'userSignature',
  'eventName',
  'occurredAt',
  'properties',
] as const

/** Returns hints about unknown members of a refused line that resemble known ones: `"usrName": did you mean userName?` */
export function misspeltMembers(bytes: Uint8Array): readonly string[] {
  const given = membersOf(bytes)
  const unknown = given.filter((name) => !MEMBERS.some((known) => known === name))
  return unknown.flatMap((name) => {
    const meant = MEMBERS.find((known) => !given.includes(known) && isNearly(name, known))
    return meant === undefined ? [] : [`unknown member ${JSON.stringify(name)}: did you mean ${meant}?`]
  })
}

function membersOf(bytes: Uint8Array): readonly string[] {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
  } catch {
    return []
  }
}

/** Returns whether names are equal except for spelling (`user_name`), or for one or two typos if the name is long enough. */
function isNearly(name: string, known: string): boolean {
  const [one, other] = [plain(name), plain(known)]
  return areWithin(other.length >= 8 ? 2 : 1, one, other)
}

function plain(name: string): string {
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
