import { prepareServiceSchema } from '@nextvisit/database'
import { consumers } from '@nextvisit/services'
import { Command } from 'commander'
import { readEnvironment } from '../environment/config.ts'
import { addressesOf } from '../environment/database-addresses.ts'
import { print } from '../output/print.ts'

export function createCommand(): Command {
  return new Command('migrate')
    .description("Create every service's schema and role, and apply new migrations.")
    .option('--print-addresses', "print each service's own database address, password included, as NAME=address")
    .addHelpText(
      'after',
      `
DATABASE_URL is the address of a role that may create schemas and roles. A service's own address, such as
METERING_DATABASE_URL, is used by that service: its role gets the password in it. Without that address, the role's
password is derived from the one in DATABASE_URL. Exits with 0 if done, 1 if failed, 2 if the arguments are invalid.

Example:
  DATABASE_URL=postgresql://postgres:…@host/nextvisit nextvisit migrate`,
    )
    .action(migrate)
}

export async function migrate({ printAddresses }: { readonly printAddresses?: true }): Promise<void> {
  const env = readEnvironment()
  for (const consumer of consumers) {
    const { name, schema, databaseVariable } = consumer
    const { adminUrl, ownUrl } = addressesOf(consumer, env)
    const password = decodeURIComponent(new URL(ownUrl).password)
    await prepareServiceSchema({ ...consumer, adminUrl, password })
    print(printAddresses ? `${databaseVariable}=${ownUrl}` : `${name}: schema ${schema} is ready`)
  }
}
