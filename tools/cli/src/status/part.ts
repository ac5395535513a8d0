/** A part of the product that was asked: its answer, or why there is none and what to do. */
export type Part<Answer> =
  | ({ readonly status: 'available' } & Answer)
  | { readonly status: 'away'; readonly because: string }

/** Asks a part; one that is unavailable is reported, and hides nothing of the others. */
export async function ask<Answer extends object>(
  question: () => Promise<Answer>,
  because: (error: Error) => string,
): Promise<Part<Answer>> {
  try {
    return { status: 'available', ...(await question()) }
  } catch (error) {
    return { status: 'away', because: because(error instanceof Error ? error : new Error(String(error))) }
  }
}
