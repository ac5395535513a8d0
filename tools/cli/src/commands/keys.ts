import { randomBytes } from 'node:crypto'
import type { Environment, KeyKind } from '@nextvisit/contracts'
import { createApiKey, hashApiKey } from '@nextvisit/domain'
import { Command, Option } from 'commander'
import { print, styled } from '../output.ts'

interface KeyOptions {
  readonly kind: KeyKind
  readonly environment: Environment
  readonly name?: string
}

export function keysCommand(): Command {
  return new Command('keys')
    .description('Make API keys.')
    .addHelpText('after', '\nExample:\n  nextvisit keys create --kind admin --environment P --name backend')
    .addCommand(
      new Command('create')
        .description('Make a key, show it once, and the line that lets it in. Changes nothing.')
        .addOption(
          new Option('--kind <kind>', 'admin: secret, for servers; sdk: publishable, for apps and pages')
            .choices(['admin', 'sdk'])
            .makeOptionMandatory(),
        )
        .addOption(
          new Option('--environment <environment>', 'P: production; T: test, not metered')
            .choices(['P', 'T'])
            .makeOptionMandatory(),
        )
        .option('--name <name>', 'what the key is called in the file (default: by what it is, and unlike any other)')
        .addHelpText(
          'after',
          '\nEnds with 0 done, 2 called wrongly.\n\nExample:\n  nextvisit keys create --kind admin --environment P --name backend',
        )
        .action(createKey),
    )
}

function createKey({ kind, environment, name }: KeyOptions): void {
  const key = createApiKey(kind, environment, randomBytes(32))
  const sha256 = hashApiKey(key)
  const called = name ?? `${kind}-${sha256.slice(0, 6)}`
  // A flow mapping takes JSON's form of a text, whatever is in it.
  const shownName = /^[a-z][\w-]*$/i.test(called) ? called : JSON.stringify(called)
  print('The key; it is shown this once and kept nowhere:\n')
  print(`  ${styled('bold', key)}\n`)
  print("To let it in, put this line below the project's keys: in the workspace file, and apply that:\n")
  print(`  - { name: ${shownName}, kind: ${kind}, environment: ${environment}, sha256: ${sha256} }`)
}
