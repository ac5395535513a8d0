import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createUnreadAnswers, reportUnread } from './unread-answers.ts'

const PART = 'x'.repeat(10_000_000)
const PARTS = 5

it('leaves a streamed answer open whose reader has read every part in time, whatever the next part takes', async () => {
  const unread = createUnreadAnswers({ maxBytes: 2 * PART.length, withinMs: 3_000 })
  const server = createServer((_request, response) => {
    unread.watch(response)
    let written = 0
    const writeOne = () => {
      written += 1
      response.write(PART)
      reportUnread(response, PART.length)
      if (written < PARTS) return
      response.off('drain', writeOne)
      setTimeout(() => response.end('the end'), 4_000)
    }
    // Writes within the event, before others learn of it.
    response.on('drain', writeOne)
    writeOne()
  }).listen(0)
  onTestFinished(() => void server.close())
  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  expect((await answer.text()).length).toBe(PARTS * PART.length + 'the end'.length)
})
