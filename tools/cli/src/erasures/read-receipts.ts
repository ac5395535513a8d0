import { readFile } from 'node:fs/promises'
import { ErasureAnswer, ErasureReceipt } from '@nextvisit/contracts'
import { verifyReceipt } from '@nextvisit/sealing'
import { fileError } from '../file-error.ts'

/** A receipt in a file, and what its signature says. */
export type ReadReceipt =
  | { readonly outcome: 'valid'; readonly receipt: ErasureReceipt }
  | { readonly outcome: 'invalid'; readonly reason: string }

/** Reads a file with a receipt, or with one on each line. `expectedKey`: the key of the installation. */
export async function readReceipts(file: string, expectedKey?: string): Promise<readonly ReadReceipt[]> {
  const read = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw fileError(file, 'read', cause)
  })
  const text = withoutMark(read)
  if (text.trim() === '') return [{ outcome: 'invalid', reason: 'the file is empty' }]
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const isOneALine = lines.length > 1 && lines.every((line) => line.startsWith('{') && line.trimEnd().endsWith('}'))
  return (isOneALine ? lines : [text]).map((one) => readReceipt(one, expectedKey))
}

/** Recognizes the answer of GET /v2/admin/erasures/{erasureId}, or its missing member, in place of a receipt. */
function answerInstead(text: string): string | undefined {
  const value = parseJson(text)
  if (value === null) return 'it is null, as of an erasure that is not complete'
  const answer = ErasureAnswer.safeParse(value)
  if (!answer.success) return undefined
  const what = 'it is the whole answer about an erasure'
  return answer.data.receipt
    ? `${what}, not its receipt: jq .receipt`
    : `${what} that is not complete, without a receipt`
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Drops the byte order mark that some editors write. */
function withoutMark(text: string): string {
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

function readReceipt(text: string, expectedKey: string | undefined): ReadReceipt {
  const verdict = verifyReceipt(text, expectedKey)
  if (verdict.outcome === 'invalid') return { ...verdict, reason: answerInstead(text) ?? verdict.reason }
  const receipt = ErasureReceipt.safeParse(verdict.receipt)
  return receipt.success
    ? { outcome: 'valid', receipt: receipt.data }
    : { outcome: 'invalid', reason: 'it is signed, but is no receipt of an erasure' }
}
