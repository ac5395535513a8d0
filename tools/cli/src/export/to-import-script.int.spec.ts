import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { eventTracked, identifyRequested } from '@nextvisit/contracts/fixtures'
import { userIdOf } from '@nextvisit/domain'
import { expect, it } from 'vitest'
import { givenSealedLog, SECRET_ENV } from '../../test/given-sealed-log.ts'
import { showTopic } from '../shown-records/show-topic.ts'
import { exportTopic } from './export-topic.ts'

const RUNBOOK = path.resolve(import.meta.dirname, '../../../../docs/runbooks/backfill.md')
const userOf = (userName: string) => ({ userName, userId: userIdOf('acme', 'shop', userName) })
const ignore = (): void => {}

/** Runs the script of the runbook on an export. Returns its lines, and its standard error. */
async function convert(exported: string) {
  const [, script = ''] = /```js\n([\s\S]*?)```/.exec(await readFile(RUNBOOK, 'utf8')) ?? []
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script])
  child.stdin.end(exported)
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  return {
    lines: stdout
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as object),
    stderr,
  }
}

it('the script of the runbook converts an export to lines of an import, and counts records that it cannot read', async () => {
  const log = await givenSealedLog()
  const { connection, topics } = log
  const ada = identifyRequested({
    ...userOf('ada'),
    operations: { set: { plan: 'pro' }, unset: ['old'] },
    device: { $browser: 'Firefox' },
  })
  const bought = eventTracked({ ...userOf('ada'), properties: { total: 1 } })
  const clicked = eventTracked({ ...userOf('ada'), eventName: 'Test Click' })
  const unnamed = eventTracked(userOf('nobody'))
  const [eve, read] = [identifyRequested(userOf('eve')), eventTracked({ ...userOf('eve'), properties: { page: 1 } })]
  for (const fact of [ada, bought, clicked, unnamed, identifyRequested(userOf('bob'))]) await log.record(fact)
  await log.erase(identifyRequested(userOf('bob')))
  for (const value of ['not JSON', '[1]', null]) await log.publish(topics.userEvents, { key: ada.userId, value })
  // The key of eve is lost without an erasure.
  for (const fact of [eve, read]) await log.record(fact)
  await log.loseKey(eve.userId)
  const [onErased, onClosed] = [ignore, ignore]
  let exported = ''
  await exportTopic({
    connection,
    topic: topics.userEvents,
    showPartition: await showTopic({ connection, of: 'userEvents', topics, env: SECRET_ENV, onErased, onClosed }),
    write: async (lines) => void (exported += lines),
    onUndecodable: ({ message }) => expect.unreachable(message),
    onProgress: ignore,
  })
  const { lines, stderr } = await convert(exported)
  expect(lines).toEqual([
    {
      type: 'identify',
      id: ada.id,
      userName: 'ada',
      userAttributes: { $set: { plan: 'pro' }, $unset: ['old'] },
      $deviceInfo: { $browser: 'Firefox' },
      occurredAt: ada.received,
    },
    {
      type: 'track',
      id: bought.id,
      userName: 'ada',
      eventName: bought.eventName,
      occurredAt: bought.occurredAt,
      properties: { total: 1 },
    },
  ])
  expect(stderr).toBe('Left out: {"unreadable":3,"sealed":2,"unnamed":1}\n')
})
