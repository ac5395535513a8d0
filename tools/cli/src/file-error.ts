import { CliError, EXIT } from './errors.ts'

/** Advice for error codes of the operating system that the user can fix. */
const REASONS: Readonly<Record<'read' | 'written', Readonly<Record<string, string>>>> = {
  read: {
    ENOENT: 'there is no such file',
    ENOTDIR: 'there is no such file',
    EACCES: 'you have no right to read it',
    EISDIR: 'it is a folder; name a file in it',
  },
  written: {
    ENOENT: 'its folder is not there; make that first',
    ENOTDIR: 'its folder is not there; make that first',
    EACCES: 'you have no right to write there',
    EROFS: 'nothing can be written there; choose another folder',
    EISDIR: 'it is a folder; name a file in it',
  },
}

/** An error for a file that cannot be read or written: one sentence, with advice if there is any. */
export function fileError(file: string, doing: 'read' | 'written', cause: unknown): CliError {
  if (cause instanceof CliError) return cause
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
  const reason = new Map(Object.entries(REASONS[doing])).get(code)
  if (reason) return new CliError(`${file} cannot be ${doing} (${code}): ${reason}.`, EXIT.usage, { cause })
  return new CliError(`${file} cannot be ${doing} (${code}): check the disk, and run this again.`, EXIT.failed, {
    cause,
  })
}
