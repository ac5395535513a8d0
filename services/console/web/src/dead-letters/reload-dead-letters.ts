import type { QueryClient } from '@tanstack/react-query'
import type { ApiName } from '../../../src/api-routes.ts'

const SHOW_LETTERS: readonly ApiName[] = [
  'listConsumers',
  'listDeadLetters',
  'readDeadLetter',
  'listDecidedLetters',
  'readRecordLetters',
]

/** Reloads everything that a decision on dead letters changes. */
export async function reloadDeadLetters(client: QueryClient): Promise<void> {
  await Promise.all(SHOW_LETTERS.map((name) => client.invalidateQueries({ queryKey: [name] })))
}
