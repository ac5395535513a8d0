import { randomBytes } from 'node:crypto'
import { createWebhookSecret } from '@nextvisit/domain'
import { print, styled } from '../output/print.ts'

/** Prints a new secret, and how the workspace file names it. Stores nothing. */
export function createSecret(): void {
  print('The secret. It is shown only once and not stored:\n')
  print(`  ${styled('bold', createWebhookSecret(randomBytes(32)))}\n`)
  print(
    'Put it into an environment variable of apply, and into your receiver. In the workspace file, name the variable below `webhooks:`:\n',
  )
  print('  - { id: crm, url: "https://crm.example/hooks", secret: $CRM_HOOK_SECRET }')
}
