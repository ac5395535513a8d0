import type { ErasureReceipt } from '@nextvisit/contracts'
import { Command } from 'commander'
import { readReceipts } from '../erasures/read-receipts.ts'
import { EXIT } from '../errors.ts'
import { parseReceiptKey } from '../options.ts'
import { complain, escapeInvisible, print, styled } from '../output/print.ts'
import { formatCount } from '../output/progress.ts'

export function createCommand(): Command {
  return new Command('receipts')
    .description('Verify receipts of erasures.')
    .addHelpText(
      'after',
      '\nExample:\n  nextvisit receipts verify receipt.json --key 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
    )
    .addCommand(
      new Command('verify')
        .description('Verify the signature of a receipt. Works offline, without an installation.')
        .argument('<file>', 'the receipt, or one on each line')
        .option('--key <key>', "the installation's public key, as in any of its receipts", parseReceiptKey)
        .addHelpText(
          'after',
          `
A receipt is JSON with its public key and an Ed25519 signature of all other members (canonical JSON, RFC 8785). Without --key, a valid
receipt proves only that the holder of the key in it has signed it: compare the printed key with one that you trust.
Exits with 0 if every receipt is valid, 1 if one was changed, is of another key or is no receipt, 2 if the arguments are invalid.

Example:
  nextvisit receipts verify receipt.json
  nextvisit receipts verify receipts.ndjson --key 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo`,
        )
        .action(verify),
    )
}

async function verify(file: string, { key }: { readonly key?: string }): Promise<void> {
  for (const read of await readReceipts(file, key)) {
    if (read.outcome === 'valid') printReceipt(read.receipt, key !== undefined)
    else {
      complain(`${styled('red', 'Not valid')}: ${read.reason}.`)
      process.exitCode = EXIT.failed
    }
  }
}

function printReceipt(receipt: ErasureReceipt, isKeyExpected: boolean): void {
  const { erasureId, organization, project, requestedAt, completedAt, users, unknown, suppress } = receipt
  const people = `${formatCount(users.length)} ${users.length === 1 ? 'user' : 'users'} (${formatCount(unknown)} without a profile)`
  print(`${styled('green', 'Valid')}: erasure ${erasureId} of ${people} in ${organization}/${project}.`)
  print(`Requested ${requestedAt}, complete ${completedAt}.${suppress ? ' These users are suppressed.' : ''}`)
  print(`Key: ${receipt.publicKey}${isKeyExpected ? ', as expected' : ' (not compared with any: see --key)'}`)
  print('Not covered:')
  for (const line of receipt.notCovered) print(`  ${escapeInvisible(line)}`)
}
