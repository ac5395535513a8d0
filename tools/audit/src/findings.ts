export interface FindingsOfKind {
  /** Kind of the differences, such as `users.traits`. */
  readonly kind: string
  readonly count: number
  /** First few differences. `about` names rows by ids and slugs, `says` contains no userNames and trait values. */
  readonly examples: readonly { readonly about: string; readonly says: string }[]
}

const EXAMPLES = 10

/** Counts every difference and keeps the first few of each kind. */
export interface Findings {
  readonly add: (kind: string, about: string, says: string) => void
  readonly byKind: () => readonly FindingsOfKind[]
}

export function createFindings(): Findings {
  const kinds = new Map<string, { count: number; examples: FindingsOfKind['examples'][number][] }>()
  return {
    add: (kind, about, says) => {
      const known = kinds.get(kind) ?? { count: 0, examples: [] }
      kinds.set(kind, known)
      known.count += 1
      if (known.examples.length < EXAMPLES) known.examples.push({ about, says })
    },
    byKind: () => [...kinds].map(([kind, { count, examples }]) => ({ kind, count, examples })),
  }
}
