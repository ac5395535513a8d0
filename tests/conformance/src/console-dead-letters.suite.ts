import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { userConsumers as consumers } from '@nextvisit/services'
import { failFoldOf, withProducer } from '@nextvisit/testing/black-box'
import type { Page } from '@nextvisit/testing/browser'
import { describe, expect, it } from 'vitest'
import { consoleStack, cookieOf, faultsOf, OWN, send, signIn, theConsole, tryAsUser } from './console-pages.ts'

const CAUSE = 'value is not JSON'
const SECRET = 'grace.hopper@example.com'
const BUGGY = 'a user that the fold fails for'

/** Publishes records that no consumer can read, as another program may. Each consumer makes them dead letters. */
async function publishPoison(values: readonly (string | Buffer)[]): Promise<void> {
  const messages = values.map((value) => ({ key: 'another-program', value, headers: { 'schema-version': '1' } }))
  await withProducer(consoleStack(), (producer) => producer.send({ topic: 'user-events', messages }))
}

async function openConsumer(page: Page, consumer: string): Promise<void> {
  await page.getByRole('link', { name: 'Operations' }).first().click()
  await page.getByRole('navigation', { name: 'Consumers' }).getByRole('link', { name: consumer }).click()
}

async function openCause(page: Page, consumer: string, cause: string): Promise<void> {
  await openConsumer(page, consumer)
  await page.getByRole('link', { name: cause }).click()
  await page.getByRole('heading', { level: 1, name: cause }).waitFor()
}

/** Opens the dialog of a button, checks it with axe, and confirms it. */
async function confirm(page: Page, button: string, action: string): Promise<void> {
  await page.getByRole('button', { name: button }).click()
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  expect(await faultsOf(page)).toEqual([])
  await dialog.getByRole('button', { name: action }).click()
}

function resultIn(page: Page, consumer: string) {
  return page.getByRole('region', { name: `Result in ${consumer}` })
}

/** Describes dead letters and halted partitions. At the end there are none. */
export function describeConsoleDeadLetters(): void {
  describe('dead letters', () => {
    it('shows a viewer the cause, the content only on request, and no way to decide', async () => {
      await publishPoison([`{"userName": "${SECRET}"`, Buffer.from([0, 255, 254])])
      const page = await signIn(theConsole().viewerToken)
      await openCause(page, 'metering', CAUSE)
      await expect
        .poll(() => page.getByRole('row', { name: /metering\/\d+ dead/ }).count(), { timeout: 30_000 })
        .toBe(2)
      expect(await page.getByRole('button', { name: 'Retry' }).count()).toBe(0)
      expect(page.url()).toMatch(/operations\/metering\/dead-letters\?cause=c[0-9a-f]+/)
      expect(await faultsOf(page)).toEqual([])

      await page
        .getByRole('link', { name: /metering\/\d+/ })
        .first()
        .click()
      await page.getByText('Hidden because they may contain personal data.').waitFor()
      expect(await page.content()).not.toContain(SECRET)
      expect(await faultsOf(page)).toEqual([])
      const own = { ...OWN, origin: theConsole().url, cookie: await cookieOf(page) }
      const selected = { by: 'ids', ids: [page.url().split('/').at(-1)] }
      for (const decision of ['retry', 'discard']) {
        const body = JSON.stringify({ decision, selections: [{ service: 'metering', selected }] })
        expect(await send('dead-letters/decide', { method: 'POST', headers: own, body })).toEqual({
          status: 403,
          error: 'not-allowed',
        })
      }

      await page.getByRole('button', { name: 'Show the record' }).click()
      await page.getByText(`{"userName": "${SECRET}"`).waitFor()
      await page.getByText('text that is not JSON').waitFor()
      expect(await faultsOf(page)).toEqual([])
      const log = await readFile(path.join(consoleStack().dataDirectory, 'logs/console.log'), 'utf8')
      expect(log).toMatch(/"action":"dead-letters\/.*reveal","role":"viewer","by":"Grace".*"letter":"metering\/\d+"/)
      expect(log).not.toContain(SECRET)
    })

    it('retries and discards a record once for every consumer, and shows the result in each', async () => {
      const page = await signIn(theConsole().token)
      for (const { name: consumer } of consumers.toReversed()) {
        await openCause(page, consumer, CAUSE)
        const letters = page.getByRole('row', { name: new RegExp(`${consumer}/\\d+ dead`) })
        await expect.poll(() => letters.count(), { timeout: 30_000 }).toBe(2)
      }
      await openCause(page, 'metering', CAUSE)
      await page
        .getByRole('link', { name: /metering\/\d+/ })
        .nth(1)
        .click()
      await page.getByText('00fffe').waitFor()
      await page.getByText('binary data, in hex').waitFor()

      const retry = page.getByRole('button', { name: 'Retry in every consumer' })
      await retry.click()
      await page.getByRole('dialog').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      expect(await retry.evaluate((button) => button === button.ownerDocument.activeElement)).toBe(true)

      await confirm(page, 'Retry in every consumer', 'Retry this record in every consumer')
      for (const { name: consumer } of consumers) await resultIn(page, consumer).getByText('1 dead again.').waitFor()
      await page.getByRole('row', { name: /^Last decision retried by Grace, 2/ }).waitFor()
      await page.getByRole('row', { name: /^user-projector\/\d+ dead retried by Grace, 2/ }).waitFor()
      expect(page.url()).toContain('decision=')
      expect(await faultsOf(page)).toEqual([])

      const late = await signIn(theConsole().token)
      await openCause(late, 'metering', CAUSE)
      await late
        .getByRole('link', { name: /metering\/\d+/ })
        .first()
        .click()
      await late.getByRole('button', { name: 'Discard in every consumer' }).waitFor()

      await openCause(page, 'user-projector', CAUSE)
      const others = page.getByRole('region', { name: 'The same cause in other consumers' })
      await expect.poll(() => others.getByRole('link').count()).toBe(consumers.length - 1)
      await confirm(page, 'Discard all 2 in every consumer', 'Discard these 2 records in every consumer')
      for (const { name: consumer } of consumers) await resultIn(page, consumer).getByText('2 discarded').waitFor()
      await page.getByText('No dead letter of user-projector with this cause is waiting').waitFor()
      expect(await faultsOf(page)).toEqual([])
      const log = await readFile(path.join(consoleStack().dataDirectory, 'logs/console.log'), 'utf8')
      expect(log).toMatch(
        /"role":"operator","by":"Grace".*"decision":"retry","letters":".*metering: of user-events\/\d+\/\d+/,
      )
      expect(log).toMatch(/"decision":"discard","letters":".*metering: of cause c[0-9a-f]+, up to \d+/)
      expect(log).toMatch(/"dead letters decided".*"by":"Grace".*"service":"metering","decision":"discard","count":2/)

      await page.getByRole('link', { name: 'retried and discarded letters' }).click()
      await page
        .getByRole('row', { name: /^user-projector\/\d+ discarded discarded by Grace, 2/ })
        .nth(1)
        .waitFor()
      expect(await faultsOf(page)).toEqual([])

      await confirm(late, 'Discard in every consumer', 'Discard this record in every consumer')
      const unchanged = 'Nothing was changed: none of the letters was waiting for a decision any more.'
      await resultIn(late, 'metering').getByText(unchanged).waitFor()
      await late.getByRole('row', { name: 'State discarded' }).waitFor()
      expect(await faultsOf(late)).toEqual([])
    })

    it('sets aside the record that halts a partition, and folds it when the cause is fixed', async () => {
      const mend = await failFoldOf(consoleStack(), BUGGY)
      const page = await signIn(theConsole().token)
      await tryAsUser(page, BUGGY)
      await openConsumer(page, 'user-projector')
      await page.getByText('FOLD_FAILED').waitFor()
      expect(await faultsOf(page)).toEqual([])
      await confirm(page, 'Set aside the record at offset', 'Set it aside')
      await page.getByRole('link', { name: /set aside by Grace: / }).waitFor()
      await expect.poll(() => page.getByText('follows').count(), { timeout: 30_000 }).toBe(12)

      await mend()
      await openCause(page, 'user-projector', 'set aside by Grace: ')
      await page.getByRole('link', { name: /user-projector\/\d+/ }).click()
      await page.getByText(`"type": "IdentifyRequested"`).waitFor()
      expect(await faultsOf(page)).toEqual([])
      await confirm(page, 'Retry', 'Retry this dead letter')
      await page.getByText('1 folded.').waitFor()
      await page.getByRole('row', { name: 'State folded' }).waitFor()
      expect(await faultsOf(page)).toEqual([])
      await openConsumer(page, 'user-projector')
      await page.getByText('No dead letter of user-projector is waiting for a decision.').waitFor()
    })
  })
}
