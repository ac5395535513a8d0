import type { QueryClient } from '@tanstack/react-query'
import { CONSUMERS } from '../operations/use-consumers.ts'
import { LETTERS_OF_RECORD } from './same-record.tsx'

/** After a decision on letters of a consumer: their counts, and every list and letter of it. */
export async function readLettersAgain(client: QueryClient, consumer: string): Promise<void> {
  const keys = [CONSUMERS, LETTERS_OF_RECORD, ['dead-letters', consumer]]
  await Promise.all(keys.map((queryKey) => client.invalidateQueries({ queryKey })))
}
