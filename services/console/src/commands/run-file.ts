import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { z, type ZodType } from 'zod'
import { Actor } from '../http/actor.ts'

/** Note of a running command. */
export interface RunNote<Request> {
  readonly request: Request
  /** The session that started it. */
  readonly author: Actor
  readonly startedAtMs: number
  /** The record of the change that the command makes. A resumed command continues it. */
  readonly changeId: string
  /** How often a restart of the console has interrupted it. */
  readonly interruptions: number
}

/** The note of the running command, in a file: it survives the process. */
export interface RunFile<Request> {
  /** Returns undefined if nothing was running, or the note cannot be read. */
  readonly read: () => RunNote<Request> | undefined
  readonly write: (note: RunNote<Request>) => void
  readonly remove: () => void
}

/** `write` and `remove` throw errors of the file system, and are synchronous: a command never runs without its note. */
export function createRunFile<Request>(file: string, request: ZodType<Request>): RunFile<Request> {
  const schema = z.object({
    request,
    author: Actor,
    startedAtMs: z.number(),
    changeId: z.uuid(),
    interruptions: z.number().int(),
  })

  return {
    read: () => {
      try {
        return schema.parse(JSON.parse(readFileSync(file, 'utf8')))
      } catch {
        // Usually there is none. A console without its replays is better than none.
        return undefined
      }
    },
    write: (note) => {
      mkdirSync(path.dirname(file), { recursive: true })
      const part = `${file}.part`
      writeFileSync(part, JSON.stringify(note), { mode: 0o600 })
      renameSync(part, file)
    },
    remove: () => rmSync(file, { force: true }),
  }
}
