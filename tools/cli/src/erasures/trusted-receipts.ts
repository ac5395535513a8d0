import type { ErasureReceipt } from '@nextvisit/contracts'
import { CliError } from '../errors.ts'
import { projectName } from '../find-project.ts'
import { formatCount } from '../output/progress.ts'
import { type ErasureClients, requireToken } from './ask-erasures.ts'
import { countOf } from './preview-erasure.ts'
import { readReceipts } from './read-receipts.ts'

const MAX_PROJECTS_SHOWN = 20

/**
 * Reads receipts whose erasures may be repeated: those that this installation has signed, or one of `keys`. Throws a
 * {@link CliError} about any other, as anyone can sign a receipt with a key of their own.
 */
export async function readTrustedReceipts(
  files: readonly string[],
  keys: readonly string[],
  clients: Pick<ErasureClients, 'userEraser'>,
): Promise<readonly ErasureReceipt[]> {
  const receipts: ErasureReceipt[] = []
  let ownKey: string | undefined
  for (const file of files) {
    for (const read of await readReceipts(file)) {
      if (read.outcome === 'invalid') throw new CliError(`${file}: ${read.reason}. Nothing was erased.`)
      const { publicKey } = read.receipt
      if (!keys.includes(publicKey)) {
        ownKey ??= await readOwnKey(clients)
        if (publicKey !== ownKey) throw new CliError(`${file}: ${foreignKey(read.receipt, ownKey)}`)
      }
      receipts.push(read.receipt)
    }
  }
  return receipts
}

/** Says which erasures a command would repeat, and who has signed their receipts. */
export function previewRepeat(receipts: readonly ErasureReceipt[], keys: readonly string[]): string {
  const projects = [...new Set(receipts.map((receipt) => projectName(receipt)))]
  const more =
    projects.length > MAX_PROJECTS_SHOWN ? ` and ${formatCount(projects.length - MAX_PROJECTS_SHOWN)} more` : ''
  const signers = [...new Set(receipts.map(({ publicKey }) => publicKey))]
  const shown = signers.map((key) => `${key} (${keys.includes(key) ? 'named by --key' : 'of this installation'})`)
  const suppressed = usersOf(receipts.filter(({ suppress }) => suppress))
  return [
    `This would repeat ${formatCount(receipts.length)} ${receipts.length === 1 ? 'erasure' : 'erasures'} of ${countOf(usersOf(receipts))}`,
    `in ${projects.slice(0, MAX_PROJECTS_SHOWN).join(', ')}${more}.`,
    ...(suppressed > 0 ? [`Records of ${countOf(suppressed)} would be refused from then on.`] : []),
    `Signed by ${shown.join(', ')}.`,
    'Nothing was erased. Add --yes to erase.',
  ].join(' ')
}

async function readOwnKey({ userEraser }: Pick<ErasureClients, 'userEraser'>): Promise<string> {
  const asked = await userEraser.readInstallationKeys({})
  requireToken(asked)
  if (asked.outcome === 'answered') return asked.answer.receiptKey
  throw new CliError(
    "The user-eraser does not answer, or has no keys yet, so the receipts cannot be compared with the installation's key. Nothing was erased. See nextvisit status.",
  )
}

function foreignKey({ erasureId, publicKey }: ErasureReceipt, ownKey: string): string {
  return [
    `the receipt of erasure ${erasureId} is signed by ${publicKey}, but this installation signs by ${ownKey}.`,
    'It may be forged. Nothing was erased.',
    `If the installation was rebuilt after that erasure, compare the key with your note of the earlier one, and add --key ${publicKey}.`,
  ].join(' ')
}

function usersOf(receipts: readonly ErasureReceipt[]): number {
  return receipts.reduce((sum, { users }) => sum + users.length, 0)
}
