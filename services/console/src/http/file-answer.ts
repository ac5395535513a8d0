import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Response } from 'express'

interface FileAnswerParts {
  /** Name that the browser suggests. */
  readonly name: string
  readonly contentType: string
  /** Destroyed if the reader disconnects. */
  readonly body: Readable
}

/** An answer that is a file. It is sent while it is made, with back-pressure from the reader. */
export class FileAnswer {
  readonly parts: FileAnswerParts

  constructor(parts: FileAnswerParts) {
    this.parts = parts
  }
}

/**
 * Sends a file. If its body fails, the connection breaks, so that the reader notices. If the reader has left, even before the
 * answer, the body is destroyed.
 */
export async function sendFile(response: Response, { parts: { name, contentType, body } }: FileAnswer): Promise<void> {
  response.status(200).type(contentType).attachment(name)
  await pipeline(body, response).catch(() => response.destroy())
  // `pipeline` leaves it open if the response is closed already.
  body.destroy()
}
