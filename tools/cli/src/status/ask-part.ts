/** Answer of a part of the product, or the reason and remedy of its absence. */
export type PartAnswer<Answer> =
  | ({ readonly status: 'available' } & Answer)
  | { readonly status: 'away'; readonly because: string }

/** Asks a part. An unavailable part is reported and does not hide the others. */
export async function askPart<Answer extends object>(question: () => Promise<Answer>): Promise<PartAnswer<Answer>> {
  try {
    return { status: 'available', ...(await question()) }
  } catch (error) {
    return { status: 'away', because: error instanceof Error ? error.message : String(error) }
  }
}
