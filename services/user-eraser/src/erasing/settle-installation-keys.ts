import { type Db, sql } from '@nextvisit/database'
import { createInstallationKeys, type KeyRing, resealInstallationKeys, sealedWith } from '@nextvisit/sealing'
import { installationKeys } from '../tables.ts'

/**
 * Creates the keys of the installation once, however many processes start, and encrypts them with the newest key of
 * NEXTVISIT_SECRET_KEY after a rotation. Throws `InstallationKeyError` if it lacks the key that encrypts them.
 */
export async function settleInstallationKeys(db: Db, keyRing: KeyRing): Promise<void> {
  const [stored] = await installationKeys.selectByKeys(db, [{ id: 1 }])
  if (!stored) {
    const keys = createInstallationKeys(keyRing)
    await db.$executeRaw(sql`
      INSERT INTO installation_keys (receipt_key, receipt_secret, suppression_key)
      VALUES (${keys.receiptKey}, ${keys.receiptSecret}, ${keys.suppressionKey}) ON CONFLICT DO NOTHING`)
    return
  }
  if (sealedWith(stored.receiptSecret) === keyRing.newestKeyId) return
  const keys = resealInstallationKeys(keyRing, stored)
  await db.$executeRaw(sql`
    UPDATE installation_keys SET receipt_secret = ${keys.receiptSecret}, suppression_key = ${keys.suppressionKey}
    WHERE receipt_secret = ${stored.receiptSecret}`)
}
