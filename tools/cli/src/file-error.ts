import { CliError, EXIT } from './errors.ts'

/** By what the operating system says: whoever called can do something about it. */
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

/** A file that cannot be read or written: in one sentence, with what to do where that is known. */
export function fileError(file: string, doing: 'read' | 'written', cause: unknown): CliError {
  if (cause instanceof CliError) return cause
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause)
  const reason = new Map(Object.entries(REASONS[doing])).get(code)
  if (reason) return new CliError(`${file} cannot be ${doing} (${code}): ${reason}.`, EXIT.usage, { cause })
  return new CliError(`${file} cannot be ${doing} (${code}): see to the disk, and run this again.`, EXIT.failed, {
    cause,
  })
}
