import { randomBytes } from 'node:crypto'
import type { Environment, KeyKind } from '@nextvisit/contracts'
import { createApiKey, hashApiKey } from '@nextvisit/domain'
import { Command, Option } from 'commander'
import { parse } from 'yaml'
import { CliError, EXIT } from '../errors.ts'
import { print, styled } from '../output/print.ts'

const PUBLISHABLE = `Every visitor of your pages can read this key. Unless the project sets requireUserSignature, anyone can act as any user
with it: create users, track events, change traits and take forms. sdk.settableTraits lists the traits that pages may change.`

interface KeyFlags {
  readonly kind: KeyKind
  readonly environment: Environment
  readonly name?: string
  readonly mayErase?: true
}

export function createCommand(): Command {
  return new Command('keys')
    .description('Create API keys.')
    .addHelpText('after', '\nExample:\n  nextvisit keys create --kind admin --environment P --name backend')
    .addCommand(
      new Command('create')
        .description('Create a key, and print it once with its line for the workspace file. Changes nothing.')
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
        .option('--name <name>', 'the name of the key in the file (default: a unique name)')
        .option('--may-erase', 'an admin key that may erase users; give it to no other server')
        .addHelpText(
          'after',
          '\nExits with 0 if done, 2 if the arguments are invalid.\n\nExample:\n  nextvisit keys create --kind admin --environment P --name backend',
        )
        .action(createKey),
    )
}

function createKey({ kind, environment, name, mayErase }: KeyFlags): void {
  if (mayErase && kind === 'sdk') throw new CliError('--may-erase: only admin keys may erase users.', EXIT.usage)
  const key = createApiKey(kind, environment, randomBytes(32))
  const sha256 = hashApiKey(key)
  const called = name ?? `${kind}-${sha256.slice(0, 6)}`
  // JSON strings are valid in a YAML flow mapping, so any name can be written.
  const isPlain = /^[a-z][\w-]*$/i.test(called) && parse(called) === called // not null, true or false
  const shownName = isPlain ? called : JSON.stringify(called)
  print('The key. It is shown only once and not stored:\n')
  print(`  ${styled('bold', key)}\n`)
  print('To enable it, add this line below `keys:` of its project in the workspace file, and apply the file:\n')
  print(
    `  - { name: ${shownName}, kind: ${kind}, environment: ${environment}, sha256: ${sha256}${mayErase ? ', mayErase: true' : ''} }`,
  )
  if (kind === 'sdk') print(`\n${PUBLISHABLE}`)
}
