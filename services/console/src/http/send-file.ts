import { pipeline } from 'node:stream/promises'
import { reportUnread } from '@nextvisit/service-kit'
import type { Response } from 'express'
import type { FileAnswer } from './file-answer.ts'

/**
 * Sends a file. If its body fails, the connection breaks, so that the reader notices. If the reader has left, even before the
 * answer, or does not read on, the body is destroyed.
 */
export async function sendFile(response: Response, { parts: { name, contentType, body } }: FileAnswer): Promise<void> {
  response.status(200).type(contentType).attachment(name)
  const reportWaiting = () => reportUnread(response, response.writableLength)
  // `pipeline` pauses the body while the reader is slower.
  body.on('pause', reportWaiting).once('end', reportWaiting)
  await pipeline(body, response).catch(() => response.destroy())
  // `pipeline` leaves it open if the response is closed already.
  body.destroy()
}
