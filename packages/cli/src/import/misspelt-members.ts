/** Of both kinds of line, at their top (decisions.md, Import). */
const MEMBERS = [
  'type',
  'id',
  'userName',
  'userAttributes',
  '$deviceInfo',
  'userSignature',
  'eventName',
  'occurredAt',
] as const

/** Members that a refused line has beside those that are known, and is likely to have meant: `"usrName": did you mean userName?` */
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

/** In another spelling (`user_name`), or one or two slips apart in a name that is long enough for that. */
function isNearly(name: string, known: string): boolean {
  const [one, other] = [plain(name), plain(known)]
  if (one === other) return true
  if (Math.abs(one.length - other.length) > 2) return false
  return slipsBetween(one, other) <= (other.length >= 8 ? 2 : 1)
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '')
}

/** Letters to add, take away, change or swap with their neighbour until the two are equal. */
function slipsBetween(one: string, other: string): number {
  const slips = Array.from({ length: one.length + 1 }, (_, row) =>
    Array.from({ length: other.length + 1 }, (_unused, column) => row || column),
  )
  const at = (row: number, column: number): number => slips[row]?.[column] ?? Infinity
  for (let row = 1; row <= one.length; row++) {
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1]
      const isSwapped = row > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]
      slips[row]![column] = Math.min(
        at(row - 1, column) + 1,
        at(row, column - 1) + 1,
        at(row - 1, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(row - 2, column - 2) + 1 : Infinity,
      )
    }
  }
  return at(one.length, other.length)
}
