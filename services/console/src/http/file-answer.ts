import type { Readable } from 'node:stream'

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
